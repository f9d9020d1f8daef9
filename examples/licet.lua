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
    '-H "Content-Type: application/json" -A licet-client/2 --data-binary "@%s" "%s" 2>&1')
    :format(math.min(5, licet.timeout_seconds), licet.timeout_seconds, name, url))
  local answer = curl:read("a"):gsub("\r", "")
  local ok = curl:close()
  os.remove(name)
  if not ok then return nil, answer:match("curl: [^\n]*") or "curl failed" end
  local status, headers, text = answer:match("^HTTP/%S+ (%d+)(.-)\n\n(.*)$")
  if not status then return nil, "no HTTP answer" end
  return tonumber(status), text, tonumber(headers:lower():match("\nretry%-after: (%d+)"))
end

-- Returns random bytes that nobody can guess. Windows has no such file: put a function of your game here.
function licet.random(count)
  local file = assert(io.open("/dev/urandom", "rb"))
  local bytes = file:read(count)
  file:close()
  return bytes
end

-- Gives a draft its name, unless another process was first: unlike a rename, a link never replaces its file.
-- Windows has no "ln", but its rename replaces no file either; some file systems have no links.
function licet.place(draft, name)
  local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end
  local is_linked = package.config:sub(1, 1) == "/"
    and os.execute(("ln %s %s 2>/dev/null"):format(quoted(draft), quoted(name)))
  local file = not is_linked and io.open(name)
  if file then file:close() elseif not is_linked then os.rename(draft, name) end
  os.remove(draft)
end

-- The buyer's next step after a refusal, by the message of the service.
local ADVICE = {
  ["License not found or invalid"] = "Copy the key from your purchase again, and check that it is for this program.",
  ["License is deactivated"] = "Ask the seller of the program for the reason.",
  ["License has expired"] = "Renew it with the seller of the program, and start the program again.",
  ["Max IPs reached"] = "Other addresses use all its slots. Free one on your customer page, or ask the seller.",
  ["Max HWIDs reached"] = "Other machines use all its slots. Free one on your customer page, or ask the seller.",
  ["IP address is blacklisted"] = "The seller of the program has blocked it. Ask the seller for the reason.",
  ["Hardware ID is blacklisted"] = "The seller of the program has blocked it. Ask the seller for the reason.",
}

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

local function from_hex(text)
  return (text:gsub("..", function(hex) return string.char(tonumber(hex, 16)) end))
end

local BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

local function to_base64url(bytes)
  return (bytes:gsub("..?.?", function(group)
    local bits, text = string.unpack(">I3", group .. "\0\0"), ""
    for i = 0, #group do
      local value = bits >> 18 - 6 * i & 63
      text = text .. BASE64URL:sub(value + 1, value + 1)
    end
    return text
  end))
end

-- Returns nil for text that is not base64url in its only form: unused bits have to be 0.
local function from_base64url(text)
  local bits, count, bytes = 0, 0, {}
  for char in text:gmatch(".") do
    local value = BASE64URL:find(char, 1, true)
    if not value then return nil end
    bits, count = bits << 6 | value - 1, count + 6
    if count >= 8 then
      count = count - 8
      bytes[#bytes + 1] = string.char(bits >> count)
      bits = bits & (1 << count) - 1
    end
  end
  return bits == 0 and table.concat(bytes) or nil
end

-- A number of 256 bytes, as 86 limbs of 24 bits, the least first.
local function to_limbs(bytes)
  local limbs = {}
  for i = 1, 86 do limbs[i] = string.unpack(">I3", "\0\0" .. bytes, 259 - 3 * i) end
  return limbs
end

-- Montgomery's product: a * b / R modulo n, where R is 2^2064. It is less than 2n if a and b are.
local function multiply(a, b, n, inverse)
  local product, top = {}, 0
  for j = 1, 86 do product[j] = 0 end
  for i = 1, 86 do
    local limb = a[i]
    local m = (product[1] + limb * b[1]) * inverse & 0xffffff
    local carry = product[1] + limb * b[1] + m * n[1] >> 24
    for j = 2, 86 do
      carry = carry + product[j] + limb * b[j] + m * n[j]
      product[j - 1] = carry & 0xffffff
      carry = carry >> 24
    end
    product[86] = carry + top & 0xffffff
    top = carry + top >> 24
  end
  return product
end

-- RSA with exponent 65537 and 2048 bits, PKCS #1 v1.5, SHA-256. Compares the whole padded block: a search
-- for the hash in it could be deceived.
local function is_signed(data, signature, modulus)
  if #modulus ~= 256 or modulus:byte() < 128 or #signature ~= 256 then return false end
  local block = "\0\1" .. ("\xff"):rep(202) .. "\0"
    .. from_hex("3031300d060960864801650304020105000420")
    .. from_hex(sha256(data))
  local n, s, one = to_limbs(modulus), to_limbs(signature), to_limbs(("\0"):rep(255) .. "\1")
  local at = 86
  while at > 1 and s[at] == n[at] do at = at - 1 end
  if s[at] >= n[at] then return false end
  local inverse = 1 -- of -n modulo 2^24
  for _ = 1, 5 do inverse = inverse * (2 + n[1] * inverse) & 0xffffff end
  -- base^65536 * last, divided by the same power of R whatever base and last are; less than n at the end.
  local function power(base, last)
    for _ = 1, 16 do base = multiply(base, base, n, inverse) end
    return table.concat(multiply(multiply(base, last, n, inverse), one, n, inverse), ",")
  end
  return power(s, s) == power(one, to_limbs(block))
end

-- Escapes as the service does.
local function json(text)
  local short = { ["\b"] = "b", ["\t"] = "t", ["\n"] = "n", ["\f"] = "f", ["\r"] = "r", ['"'] = '"', ["\\"] = "\\" }
  return '"' .. text:gsub('[\0-\31"\\]', function(c)
    return "\\" .. (short[c] or ("u%04x"):format(c:byte()))
  end) .. '"'
end

-- Bytes that are no UTF-8 become U+FFFD: the service hashes what it reads.
local function to_utf8(text)
  local length, at = utf8.len(text)
  if length then return text end
  return to_utf8(text:sub(1, at - 1) .. "\u{FFFD}" .. text:sub(at + 1))
end

-- Returns the claims, as text, of a JWS that a pinned key signed and that has this type and these claims. The
-- service writes JSON without blanks, and escapes quotes in texts: "name":"value" is found as a member only.
local function verified(jws, typ, public_keys, expected)
  local header, payload, signature = jws:match("^([^.]*)%.([^.]*)%.([^.]*)$")
  local said = header and from_base64url(header)
  local signature_bytes = said and from_base64url(signature)
  local claims = signature_bytes and from_base64url(payload)
  if not claims then return nil end
  for kid, key in public_keys:gmatch("([^ :]+):([%w_-]+)") do
    -- The pinned key decides about the algorithm, never the header.
    local a, b, c = '"alg":"RS256"', ('"kid":"%s"'):format(kid), ('"typ":"%s"'):format(typ)
    local is_exact = #said == #("{,,}" .. a .. b .. c)
      and said:find(a, 1, true) and said:find(b, 1, true) and said:find(c, 1, true)
    local modulus = from_base64url(key)
    if is_exact and modulus and is_signed(header .. "." .. payload, signature_bytes, modulus) then
      for name, value in pairs(expected) do
        if not claims:find(('"%s":%s'):format(name, json(value)), 1, true) then return nil end
      end
      return claims
    end
  end
end

-- Returns the problem of an address or a public key that is none.
local function misformed(url, public_keys)
  if not tostring(url):lower():match("^https?://.") then
    return ("'%s' is no address of a service; url has the form https://license.example.com"):format(url)
  end
  for key in (public_keys .. " "):gmatch("(.-) ") do
    local kid, modulus = key:match("^([%w_.-]+):([%w_-]+)$")
    if public_keys ~= "" and not (kid and #kid <= 64 and #modulus == 342) then
      return ("'%s' is no public key; it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)"):format(key)
    end
  end
end

local function read(name)
  local file = io.open(name)
  if not file then return "" end
  local text = file:read("a")
  file:close()
  return text:match("^%s*(.-)%s*$")
end

function licet.hardware_id()
  local host = os.getenv("COMPUTERNAME") or read("/etc/hostname")
  local user = os.getenv("USERNAME") or os.getenv("USER") or ""
  return sha256(read("/etc/machine-id") .. "\n" .. host .. "\n" .. user)
end

-- Reads the id of this installation; draws it at the first start. It survives updates and new containers.
-- Returns nil if the file cannot be read or written.
local function installation_id(name)
  local file = io.open(name)
  if not file then
    local id = licet.random(16):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
    local draft = name .. "." .. id .. ".tmp"
    local new = io.open(draft, "w")
    if not new then return nil end
    local is_written = new:write(id) and new:close()
    if is_written then licet.place(draft, name) else os.remove(draft) end
    file = io.open(name)
    if not file then return nil end
  end
  local text = file:read("a")
  file:close()
  return text and text:match("^%s*(.-)%s*$")
end

-- Returns a table: valid, which is nil where the service cannot be reached; text; lease; claims, if they are signed;
-- and, where the service cannot be reached, status, and retry_after where the service asks for that. With believe, the
-- claims that it returns count, and not the body and the status.
local function ask(url, body, believe)
  local status, text, retry_after = licet.send(url .. "/api/v1/validate", body)
  if not status then return { text = text } end
  local believed = believe and (believe(text) or "") or text
  local valid = believed:match('^{.*"valid"%s*:%s*(%a+)')
  local said = believed:gsub('\\([\\"])', { ["\\"] = "\1", ['"'] = "\2" }):match('"message"%s*:%s*"([^"]*)"')
  said = said and said:gsub("\\u(%x%x%x%x)", function(hex) return utf8.char(tonumber(hex, 16)) end)
    :gsub("\\(.)", { n = "\n", r = "\r", t = "\t", ["/"] = "/" }):gsub("\1", "\\"):gsub("\2", '"')
  local lease = text:match('"lease"%s*:%s*"([^"]*)"')
  local is_valid = valid == "true" and (believe or status == 200)
  local is_refused = valid == "false" and (believe or status == 400 or status == 413)
  if said and (is_valid or is_refused) then
    return { valid = is_valid and true, text = said, lease = lease, claims = believe and believed }
  end
  return { text = "HTTP " .. status, status = status, retry_after = retry_after }
end

-- Writes beside the file first, so that the file is never half written.
local function keep_lease(name, lease, latest)
  local file = io.open(name .. ".tmp", "w")
  if not file then return end
  file:write(lease, " ", latest):close()
  if not os.rename(name .. ".tmp", name) then -- Windows replaces no file
    os.remove(name)
    os.rename(name .. ".tmp", name)
  end
end

-- Returns a claim that is a time, in seconds since 1970, or nil.
local function time_of(claims, name)
  local digits = claims:match(('"%s":(%%d+)[,}]'):format(name))
  return digits and #digits <= 15 and tonumber(digits) or nil
end

-- Returns the earlier one of both claims.
local function check_after_of(claims, otherwise)
  local time = time_of(claims, "checkAfter") or otherwise
  return math.min(time, time_of(claims, "entitlementsUntil") or time)
end

-- Returns the third value of a check.
local function details_of(claims, check_after)
  local details = { check_after = check_after }
  function details.entitlement(name)
    local text = claims:match('"entitlements":"([^"\\]*)"') or ""
    for part in text:gmatch("[^ ]+") do
      local own, value = part:match("^([^=]+)=(.+)$")
      if own == name then return value elseif part == name and not part:find("=", 1, true) then return "true" end
    end
  end
  return details
end

local function start(program, takes_over)
  local keys = program.public_keys or ""
  local misform = misformed(program.url, keys)
  if misform then error(misform, 2) end
  local license_key = to_utf8(tostring(program.license_key or "")) -- a number in the configuration is a key, too
  if not license_key:find("%S") then
    return "refused", "License refused: no license key is set. "
      .. "Enter the key from your purchase in the configuration, and start the program again.", details_of("", 0)
  end
  local id_file = (program.mark_file:match("^.*[/\\]") or "") .. "licet-id"
  local hwid = program.hwid or installation_id(id_file)
  if not hwid then
    return "unreachable", id_file .. " cannot be read or written: it keeps the id of this installation. "
      .. "Check the permissions and the free space there.", details_of("", 0)
  elseif not program.hwid and not (#hwid == 32 and hwid:match("^[0-9a-f]+$")) then
    return "unreachable", id_file .. " does not hold the id of an installation. "
      .. "Restore the file, or delete it: then this counts as a new installation.", details_of("", 0)
  end
  local body = ('{"licenseKey":%s,"productId":%d,"hwid":%s,"productVersion":%s%s'):format(json(license_key),
    program.product_id, json(hwid), json(program.product_version), takes_over and ',"takeOver":true' or "")
  local sub = to_base64url(from_hex(sha256(license_key)))
  local own = { aud = ("%d"):format(program.product_id), sub = sub, hwid = hwid }
  local function lease_of(jws)
    return verified(jws, "licet-lease+jwt", keys, own)
  end
  -- Returns the claims of the lease in the file if it counts, and for how many seconds; keeps the latest time seen. At
  -- the start, a lease counts until its time to ask again.
  local function kept_lease(is_start)
    local jws, latest = read(program.mark_file):match("^(%S+) (%d+)$")
    local lease = lease_of(jws or "") or ""
    local issued, expires, now = time_of(lease, "iat"), time_of(lease, "exp"), os.time()
    if not (issued and expires) or is_start and now >= check_after_of(lease, 0) then return end
    local seen = math.max(issued, tonumber(latest))
    -- The clock may be a day wrong: time zones differ that much.
    if now < seen - 86400 or now >= expires then return end
    if now > seen then keep_lease(program.mark_file, jws, now) end
    return lease, expires - now
  end
  local function mark_of(time)
    local lines = { time, license_key, program.product_id, hwid }
    return time .. " " .. sha256(table.concat(lines, "\n"))
  end
  -- The answer that lets the program run. A random part of up to a tenth: else all installations check at once.
  local function good(state, text, claims)
    local now, part = os.time(), tonumber(sha256(hwid .. os.time()):sub(1, 4), 16) / 0xffff
    local check_after = check_after_of(claims or "", math.ceil(now + 86400 - 8640 * part))
    if state == "grace" or check_after <= now then check_after = math.ceil(now + 3600 - 360 * part) end
    return state, text, details_of(claims or "", check_after)
  end
  local function decide()
    local nonce = keys ~= "" and to_base64url(licet.random(16))
    local function believe(text)
      local expected = { aud = own.aud, sub = sub, hwid = hwid, nonce = nonce }
      return verified(text:match('"signed"%s*:%s*"([^"]*)"') or "", "licet-validation+jwt", keys, expected)
    end
    local function ask_for(kid)
      if keys == "" then return ask(program.url, body .. "}") end
      local signed = (',"nonce":"%s","kid":%s,"lease":true}'):format(nonce, json(kid))
      return ask(program.url, body .. signed, believe)
    end
    local first_kid = keys:match("^[^:]*")
    local reply = ask_for(first_kid)
    local pause_seconds = reply.retry_after or licet.retry_seconds
    if reply.valid == nil and pause_seconds <= 10 then
      licet.wait(pause_seconds)
      -- 400 may mean that the service no longer has the first key.
      reply = ask_for(reply.status == 400 and keys:match(" ([^:]*)") or first_kid)
    end
    if reply.valid then
      local issued = time_of(lease_of(reply.lease or "") or "", "iat")
      if issued then keep_lease(program.mark_file, reply.lease, issued) end
      local file = keys == "" and io.open(program.mark_file, "w")
      if file then file:write(mark_of(os.time())):close() end
      return good("valid", reply.text, reply.claims)
    elseif reply.valid == false then
      local advice = ADVICE[reply.text]
      os.remove(program.mark_file)
      return "refused", "License refused: " .. reply.text .. (advice and ". " .. advice or ""), details_of("", 0)
    end
    local problem = "The license service cannot be reached (" .. reply.text .. ")."
    local advice = "Check the network connection and try again."
    if keys ~= "" and (reply.status == 200 or reply.status == 400) then -- the service signs these
      problem = "The response has no valid signature of this service (" .. reply.text .. ")."
      advice = "If this continues, ask the seller of the program."
    end
    local lease, left_seconds
    if keys == "" then
      local mark = read(program.mark_file)
      local time = tonumber(mark:match("^%d+")) or 0
      if mark == mark_of(time) then left_seconds = licet.grace_hours * 3600 - math.abs(os.time() - time) end
    else
      lease, left_seconds = kept_lease(false)
    end
    if left_seconds and left_seconds > 0 then
      local hours = math.ceil(left_seconds / 3600)
      return good("grace", ("%s The last good answer counts for %d h more."):format(problem, hours), lease)
    end
    return "unreachable", problem .. " " .. advice, details_of("", 0)
  end
  local lease = not takes_over and keys ~= "" and kept_lease(true)
  if not lease then return decide() end
  local state, text, details = good("valid", "License is valid", lease)
  details.ask = decide
  return state, text, details
end

-- The program: url, product_id, product_version, license_key, and mark_file, where the time of the last
-- good answer is kept; and public_keys, KID:N of one or two RS256 keys with a space between, if only signed
-- answers count: then the lease is in mark_file; and hwid, in place of the id of the installation, where README.md
-- says so. Returns "valid", "grace" (both may run), "refused" or "unreachable"; a text for the user; and a table:
-- entitlement(name) is its value as text, "true" for one without a value, or nil, with public keys only; check_after
-- is when to check again, in seconds since 1970, or 0 if the program may not run; and ask, if it started from a lease:
-- call it when nobody waits. It asks the service, and returns the same. Raises an error if the url or a public key is
-- none.
function licet.check(program)
  return start(program, false)
end

-- Checks, and moves the license here if no slot is free. Only for a command of a person; README.md says more.
function licet.move(program)
  return start(program, true)
end

if not (arg and arg[0] and arg[0]:match("licet%.lua$")) then return licet end -- loaded by your program

-- From here on it is tried out; no part of your program.
local url, product, key = os.getenv("LICET_URL"), os.getenv("LICET_PRODUCT_ID"), os.getenv("LICET_KEY")
if not (url and product and product:match("^%d+$") and key) then
  io.stderr:write("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.\n")
  os.exit(3)
end
local public_keys = os.getenv("LICET_PUBLIC_KEYS") or ""
if misformed(url, public_keys) then
  io.stderr:write(misformed(url, public_keys), "\n")
  os.exit(3)
end
licet.timeout_seconds = tonumber(os.getenv("LICET_TIMEOUT_SECONDS") or 10)
licet.retry_seconds = tonumber(os.getenv("LICET_RETRY_SECONDS") or 2)
local state, message, answer = licet[os.getenv("LICET_MOVE") == "1" and "move" or "check"]({
  url = url,
  product_id = tonumber(product),
  product_version = "1.0.0",
  license_key = key,
  mark_file = os.getenv("LICET_MARK") or "licet.mark",
  public_keys = public_keys,
})
print(message)
local name = os.getenv("LICET_ENTITLEMENT")
if name then
  local value = answer.entitlement(name)
  print(value and name .. "=" .. value or name)
end
os.exit(({ valid = 0, grace = 0, refused = 1, unreachable = 2 })[state])
