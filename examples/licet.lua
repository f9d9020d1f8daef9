-- Asks Licet whether a license key may run here. Lua 5.3 or newer, and curl; see README.md.
local licet = { timeout_seconds = 10, retry_seconds = 2, grace_hours = 72 }

-- Lua itself neither sends nor waits. A game has functions of its own for both: put them here, in a
-- coroutine, so that the game goes on. (Windows has no "sleep": without a function of yours it does not wait.)
function licet.wait(seconds) os.execute("sleep " .. seconds) end

-- Returns the status, the body and the header Retry-After; nil and the reason where there is no answer.
function licet.send(url, body)
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(body)
  file:close()
  local curl = io.popen(('curl -q -sS -i --suppress-connect-headers --connect-timeout %d --max-time %d ' ..
    '-H "Content-Type: application/json" -A licet-client/1 --data-binary "@%s" "%s" 2>&1')
    :format(math.min(5, licet.timeout_seconds), licet.timeout_seconds, name, url))
  local answer = curl:read("a"):gsub("\r", "")
  local ok = curl:close()
  os.remove(name)
  if not ok then return nil, answer:match("curl: [^\n]*") or "curl failed" end
  local status, headers, text = answer:match("^HTTP/%S+ (%d+)(.-)\n\n(.*)$")
  if not status then return nil, "no HTTP answer" end
  return tonumber(status), text, tonumber(headers:lower():match("\nretry%-after: (%d+)"))
end

local function sha256(text)
  local function rotate(x, bits) return (x >> bits | x << 32 - bits) & 0xffffffff end
  local primes, k, hash = {}, {}, {}
  for number = 2, 311 do
    local is_prime = true
    for _, prime in ipairs(primes) do is_prime = is_prime and number % prime ~= 0 end
    if is_prime then
      primes[#primes + 1] = number
      k[#primes] = math.floor(number ^ (1 / 3) % 1 * 2 ^ 32)
      if #primes <= 8 then hash[#primes] = math.floor(number ^ 0.5 % 1 * 2 ^ 32) end
    end
  end
  text = text .. "\128" .. ("\0"):rep(-(#text + 9) % 64) .. string.pack(">I8", #text * 8)
  for start = 1, #text, 64 do
    local w = { string.unpack((">I4"):rep(16), text, start) }
    for i = 17, 64 do
      local x, y = w[i - 15], w[i - 2]
      w[i] = w[i - 16] + w[i - 7] + (rotate(x, 7) ~ rotate(x, 18) ~ x >> 3)
        + (rotate(y, 17) ~ rotate(y, 19) ~ y >> 10) & 0xffffffff
    end
    local a, b, c, d, e, f, g, h = table.unpack(hash)
    for i = 1, 64 do
      local one = h + k[i] + w[i] + (rotate(e, 6) ~ rotate(e, 11) ~ rotate(e, 25)) + (e & f ~ ~e & g)
      local two = (rotate(a, 2) ~ rotate(a, 13) ~ rotate(a, 22)) + (a & b ~ a & c ~ b & c)
      a, b, c, d, e, f, g, h = one + two & 0xffffffff, a, b, c, d + one & 0xffffffff, e, f, g
    end
    for i, x in ipairs({ a, b, c, d, e, f, g, h }) do hash[i] = hash[i] + x & 0xffffffff end
  end
  return (("%08x"):rep(8):format(table.unpack(hash)))
end

local function read(name)
  local file = io.open(name)
  if not file then return "" end
  local text = file:read("a")
  file:close()
  return text:match("^%s*(.-)%s*$")
end

local function json(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

function licet.hardware_id()
  local host = os.getenv("COMPUTERNAME") or read("/etc/hostname")
  local user = os.getenv("USERNAME") or os.getenv("USER") or ""
  return sha256(read("/etc/machine-id") .. "\n" .. host .. "\n" .. user)
end

-- Returns true for valid, false for refused, nil where the service cannot be reached; a text; and how
-- long to wait where the service asks for that.
local function ask(url, body)
  local status, text, retry_after = licet.send(url .. "/api/v1/validate", body)
  if not status then return nil, text end
  local valid = text:match('^{.*"valid"%s*:%s*(%a+)')
  local said = text:gsub('\\([\\"])', { ["\\"] = "\1", ['"'] = "\2" }):match('"message"%s*:%s*"([^"]*)"')
  said = said and said:gsub("\\u(%x%x%x%x)", function(hex) return utf8.char(tonumber(hex, 16)) end)
    :gsub("\\(.)", { n = "\n", r = "\r", t = "\t", ["/"] = "/" }):gsub("\1", "\\"):gsub("\2", '"')
  if said and valid == "true" and status == 200 then return true, said end
  if said and valid == "false" and (status == 400 or status == 413) then return false, said end
  return nil, "HTTP " .. status, retry_after
end

-- The program: url, product_id, product_version, license_key, and mark_file, where the time of the last
-- good answer is kept. Returns "valid", "grace" (both may run), "refused" or "unreachable", and a text for
-- the user.
function licet.check(program)
  local hwid = licet.hardware_id()
  local body = ('{"licenseKey":%s,"productId":%d,"hwid":%s,"productVersion":%s}'):format(
    json(program.license_key), program.product_id, json(hwid), json(program.product_version))
  local valid, text, retry_after = ask(program.url, body)
  local pause_seconds = retry_after or licet.retry_seconds
  if valid == nil and pause_seconds <= 10 then
    licet.wait(pause_seconds)
    valid, text = ask(program.url, body)
  end
  local function mark_of(time)
    local lines = { time, program.license_key, program.product_id, hwid }
    return time .. " " .. sha256(table.concat(lines, "\n"))
  end
  if valid then
    local file = io.open(program.mark_file, "w")
    if file then file:write(mark_of(os.time())):close() end
    return "valid", text
  elseif valid == false then
    os.remove(program.mark_file)
    return "refused", "License refused: " .. text
  end
  local problem = "The license service cannot be reached (" .. text .. ")."
  local mark = read(program.mark_file)
  local time = tonumber(mark:match("^%d+")) or 0
  local hours = math.ceil(licet.grace_hours - math.abs(os.time() - time) / 3600)
  if mark == mark_of(time) and hours > 0 then
    return "grace", ("%s The last good answer counts for %d h more."):format(problem, hours)
  end
  return "unreachable", problem .. " Check the network connection and try again."
end

if not (arg and arg[0] and arg[0]:match("licet%.lua$")) then return licet end -- loaded by your program

-- From here on it is tried out; no part of your program.
local url, product, key = os.getenv("LICET_URL"), os.getenv("LICET_PRODUCT_ID"), os.getenv("LICET_KEY")
if not (url and product and product:match("^%d+$") and key) then
  io.stderr:write("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.\n")
  os.exit(3)
end
licet.timeout_seconds = tonumber(os.getenv("LICET_TIMEOUT_SECONDS") or 10)
licet.retry_seconds = tonumber(os.getenv("LICET_RETRY_SECONDS") or 2)
local state, message = licet.check({
  url = url,
  product_id = tonumber(product),
  product_version = "1.0.0",
  license_key = key,
  mark_file = os.getenv("LICET_MARK") or "licet.mark",
})
print(message)
os.exit(({ valid = 0, grace = 0, refused = 1, unreachable = 2 })[state])
