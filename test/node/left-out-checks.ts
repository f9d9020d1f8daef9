/** Each check of the verifiers in the examples, left out once. */
export interface LeftOutCheck {
  check: string;
  /** Literal texts of the example. */
  replacements: readonly [string, string][];
  /** The forgery, or the fault, that the program then falls for. */
  fault: string;
}

const leftOut = (
  check: string,
  fault: string,
  ...replacements: [string, string][]
): LeftOutCheck => ({
  check,
  fault,
  replacements,
});

export const leftOutChecks: Record<string, readonly LeftOutCheck[]> = {
  'licet.ts': [
    leftOut('strict base64url', 'unused bits in the signature', [
      '!isStrict || !pinned',
      '!pinned',
    ]),
    leftOut('three parts', 'four parts', [' || parts.length !== 3', '']),
    leftOut('alg', 'the name of the other algorithm', [
      "alg: 'ES256', kid, typ }",
      'alg: said.alg, kid, typ }',
    ]),
    leftOut('kid', 'the kid of a retired key', [
      "'ES256', kid, typ }",
      "'ES256', kid: said.kid, typ }",
    ]),
    leftOut('typ', 'the other typ', ["'ES256', kid, typ }", "'ES256', kid, typ: said.typ }"]),
    leftOut('no other header', 'a critical extension', [
      "{ alg: 'ES256'",
      "{ ...said, alg: 'ES256'",
    ]),
    leftOut('the signature', 'a changed payload', [
      "if (!verify('sha256', signed,",
      "if (verify('sha256', Buffer.of(),",
    ]),
    leftOut('aud', 'another product', ['{ aud: String(productId), sub, hwid }', '{ sub, hwid }']),
    leftOut('sub', 'another license key', ['(productId), sub, hwid }', '(productId), hwid }']),
    leftOut('hwid', 'another machine', ['(productId), sub, hwid }', '(productId), sub }']),
    leftOut('nonce', 'another nonce', ['{ ...own, nonce }', 'own']),
    leftOut('a new nonce', 'the same nonce', ['randomBytes(16)', 'Buffer.alloc(16)']),
    leftOut('valid is a boolean', 'valid as a text', [
      'valid === true || valid === false',
      'valid !== undefined',
    ]),
    leftOut('valid of the claims', 'a body that says valid', [
      'const { valid, message } = believe(said, status) ?? {}',
      'const { valid, message } = believe(said, status) && said',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      'if (lease) keepLease(reply.lease, lease.iat)',
      'keepLease(reply.lease, 1)',
    ]),
    leftOut('the end of the lease', 'an expired lease', [
      'leftSeconds = lease.exp - now',
      'leftSeconds = 1',
    ]),
    leftOut('the issue of the lease', 'a lease of the future', ['lease?.iat ?? Number.NaN', '0']),
    leftOut('the latest time', 'a lease used in the future', [
      "Number.parseInt(latest ?? '', 10)",
      '0',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if (now > seen) keepLease(jws, now)',
      '',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      'attempt(() => rmSync(markFile))',
      '',
    ]),
    leftOut('no mark counts', 'a mark file', ["  if (publicKeys === '') {", '  if (markFile) {']),
  ],
  'licet.py': [
    leftOut('strict base64url', 'unused bits in the signature', [
      'if _base64url(data) != text:',
      'if False:',
    ]),
    leftOut('alg', 'the name of the other algorithm', [
      '{"alg": "RS256", "kid"',
      '{"alg": said.get("alg"), "kid"',
    ]),
    leftOut('kid', 'the kid of a retired key', [
      '"kid": kid, "typ": typ}',
      '"kid": said.get("kid"), "typ": typ}',
    ]),
    leftOut('typ', 'the other typ', [
      '"kid": kid, "typ": typ}',
      '"kid": kid, "typ": said.get("typ")}',
    ]),
    leftOut('no other header', 'a critical extension', [
      'said == {"alg"',
      'said == {**said, "alg"',
    ]),
    leftOut('the size of the key', 'a key of 2047 bits', ['n.bit_length() != 2048 or ', '']),
    leftOut('the length of the signature', 'a zero before the signature', [
      'len(signature) != 256 or ',
      '',
    ]),
    leftOut('the range of the signature', 'the signature and the modulus, added', [
      ' or number >= n:',
      ':',
    ]),
    leftOut('the whole block', 'garbage behind the hash', [
      'return pow(number, 65537, n) == int.from_bytes(block, "big")',
      'return block[-51:] in pow(number, 65537, n).to_bytes(256, "big")',
    ]),
    leftOut('the padding', 'padding of zeros', [
      'pow(number, 65537, n) == int.from_bytes(block, "big")',
      'pow(number, 65537, n) % 2**408 == int.from_bytes(block, "big") % 2**408',
    ]),
    leftOut('the name of the hash', 'another name of the hash', [
      'pow(number, 65537, n) == int.from_bytes(block, "big")',
      'pow(number, 65537, n) % 2**256 == int.from_bytes(block, "big") % 2**256',
    ]),
    leftOut('aud', 'another product', ['"aud": str(product_id), ', '']),
    leftOut('sub', 'another license key', ['"sub": sub, ', '']),
    leftOut('hwid', 'another machine', ['"sub": sub, "hwid": hwid}', '"sub": sub}']),
    leftOut('nonce', 'another nonce', [
      'dict(own, nonce=nonce)\n            return',
      'own\n            return',
    ]),
    leftOut('a new nonce', 'the same nonce', ['secrets.token_urlsafe(16)', '"A" * 22']),
    leftOut('valid is a boolean', 'valid as a text', [
      'valid is True or valid is False',
      'valid is not None',
    ]),
    leftOut('valid of the claims', 'a body that says valid', [
      'valid = believed.get("valid")',
      'valid = believed and said.get("valid")',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      'lease = lease_of(reply.lease)',
      'lease = {"iat": 1}',
    ]),
    leftOut('the end of the lease', 'an expired lease', [
      'left_seconds = lease["exp"] - now',
      'left_seconds = 1',
    ]),
    leftOut('the issue of the lease', 'a lease of the future', [
      'max(lease["iat"], int(latest))',
      'int(latest)',
    ]),
    leftOut('the latest time', 'a lease used in the future', [
      'max(lease["iat"], int(latest))',
      'lease["iat"]',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      '_keep_lease(mark_file, jws, now)',
      'pass',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      'os.remove(mark_file)',
      'pass',
    ]),
    leftOut('no mark counts', 'a mark file', [
      '    if public_keys:\n        jws,',
      '    if False:\n        jws,',
    ]),
  ],
  'licet.lua': [
    leftOut('strict base64url', 'unused bits in the signature', ['return bits == 0 and', 'return']),
    leftOut('the alphabet', 'the alphabet of base64', [
      'local value = BASE64URL:find(char, 1, true)',
      'local value = BASE64URL:find(({ ["+"] = "-", ["/"] = "_" })[char] or char, 1, true)',
    ]),
    leftOut('alg', 'the name of the other algorithm', ['said:find(a, 1, true) and', '']),
    leftOut('kid', 'the kid of another key', ['said:find(b, 1, true) and', '']),
    leftOut('typ', 'a typ of the same length', [
      'said:find(b, 1, true) and said:find(c, 1, true)',
      'said:find(b, 1, true)',
    ]),
    leftOut('no other header', 'a critical extension', [
      '#said == #("{,,}" .. a .. b .. c)',
      'true',
    ]),
    leftOut('the size of the key', 'a key of 2047 bits', [' or modulus:byte() < 128', '']),
    leftOut('the length of the signature', 'a byte behind the signature', [
      ' or #signature ~= 256',
      '',
    ]),
    leftOut('the range of the signature', 'the signature and the modulus, added', [
      'if s[at] >= n[at] then return false end',
      '',
    ]),
    leftOut('the signature', 'a changed payload', [
      'return power(s, s) == power(one, to_limbs(block))',
      'return true',
    ]),
    leftOut('aud', 'another product', ['{ aud = own.aud, sub = sub,', '{ sub = sub,']),
    leftOut('sub', 'another license key', ['{ aud = own.aud, sub = sub,', '{ aud = own.aud,']),
    leftOut('hwid', 'another machine', [
      'sub = sub, hwid = hwid, nonce = nonce }',
      'sub = sub, nonce = nonce }',
    ]),
    leftOut('nonce', 'another nonce', ['hwid = hwid, nonce = nonce }', 'hwid = hwid }']),
    leftOut('aud of the lease', 'a lease of another product', [
      '{ aud = ("%d"):format(program.product_id), sub = sub, hwid = hwid }',
      '{ sub = sub, hwid = hwid }',
    ]),
    leftOut('sub of the lease', 'a lease of another license key', [
      '(program.product_id), sub = sub, hwid = hwid }',
      '(program.product_id), hwid = hwid }',
    ]),
    leftOut('hwid of the lease', 'a lease of another machine', [
      '(program.product_id), sub = sub, hwid = hwid }',
      '(program.product_id), sub = sub }',
    ]),
    leftOut('a new nonce', 'the same nonce', ['licet.random(16)', '("A"):rep(16)']),
    leftOut('valid is a boolean', 'valid as a text', ['%s*:%s*(%a+)', '%s*:%s*"?(%a+)']),
    leftOut('valid of the claims', 'a body that says valid', [
      'local valid = believed:match',
      'local valid = text:match',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      'local issued = lease_of(reply.lease or "")',
      'local issued = 1',
    ]),
    leftOut('the end of the lease', 'an expired lease', [
      'left_seconds = expires - now',
      'left_seconds = 1',
    ]),
    leftOut('the issue of the lease', 'a lease of the future', [
      'math.max(issued, tonumber(latest))',
      'tonumber(latest)',
    ]),
    leftOut('the latest time', 'a lease used in the future', [
      'math.max(issued, tonumber(latest))',
      'issued',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if now > seen then keep_lease(program.mark_file, jws, now) end',
      '',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      '    os.remove(program.mark_file)\n    return "refused"',
      '    return "refused"',
    ]),
    leftOut('no mark counts', 'a mark file', [
      '  if keys == "" then\n    local time',
      '  if true then\n    local time',
    ]),
  ],
  'licet.sh': [
    leftOut('strict base64url', 'unused bits in the signature', [' | *[!AQgw])', ')']),
    leftOut('the alphabet', 'the alphabet of base64', ['*[!A-Za-z0-9_-]* | ', '']),
    leftOut('alg', 'the name of the other algorithm', [
      'case $header in *"$alg"*) ;; *) continue ;; esac',
      '',
    ]),
    leftOut('kid', 'the kid of another key', [
      'case $header in *"$kid"*) ;; *) continue ;; esac',
      '',
    ]),
    leftOut('typ', 'a typ of the same length', [
      'case $header in *"$typ"*) ;; *) continue ;; esac',
      '',
    ]),
    leftOut('no other header', 'a critical extension', [
      '#typ} + 4)) ] || continue',
      '#typ} + 4)) ] || :',
    ]),
    leftOut('the signature', 'a changed payload', [
      '-signature "$folder/signature" >/dev/null 2>&1 || return 1',
      '-signature "$folder/signature" >/dev/null 2>&1',
    ]),
    leftOut('the size of the key', 'a key of 2047 bits', [
      'in [!ghijklmnopqrstuvwxyz0123456789_-]*) continue ;; esac',
      'in esac',
    ]),
    leftOut('aud', 'another product', [
      'case $claims in *"\\"aud\\":\\"$product\\""*) ;; *) return 1 ;; esac',
      '',
    ]),
    leftOut('sub', 'another license key', [
      'case $claims in *"\\"sub\\":\\"$sub\\""*) ;; *) return 1 ;; esac',
      '',
    ]),
    leftOut('hwid', 'another machine', [
      'case $claims in *"\\"hwid\\":\\"$hwid\\""*) ;; *) return 1 ;; esac',
      '',
    ]),
    leftOut('nonce', 'another nonce', ['licet-validation+jwt "$nonce"', "licet-validation+jwt ''"]),
    leftOut('a new nonce', 'the same nonce', [
      '$(openssl rand -hex 16)',
      '$(echo 0123456789abcdef0123456789abcdef)',
    ]),
    leftOut('valid is a boolean', 'valid as a text', [
      '"valid": *(true|false).*',
      '"valid": *"?(true|false).*',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      'elif read_lease "$lease"; then',
      'else issued=1',
    ]),
    leftOut('the end of the lease', 'an expired lease', ['left=$((expires - now))', 'left=1']),
    leftOut('the issue of the lease', 'a lease of the future', [
      '[ "$seen" -ge "$issued" ] || seen=$issued',
      '',
    ]),
    leftOut('the latest time', 'a lease used in the future', ['{mark#* }', '{issued}']),
    leftOut('the latest time is kept', 'a clock that is set back', [
      '[ "$now" -le "$seen" ] ||',
      'true ||',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', ['rm -f "$file"\n', ':\n']),
    leftOut('no mark counts', 'a mark file', [
      '  left=0\n  if [ -z "$public_keys" ]; then',
      '  left=0\n  if true; then',
    ]),
  ],
  'Licet.java': [
    leftOut('strict base64url', 'unused bits in the signature', [
      'if (!base64url(bytes).equals(text)) throw',
      'if (false) throw',
    ]),
    leftOut('three parts', 'four parts', ['parts.length != 3 || ', '']),
    leftOut('a flat header', 'a critical extension', [
      'if (!object.substring(end).equals("}")) throw',
      'if (false) throw',
    ]),
    leftOut('no other header', 'an unknown extension', [
      '!header.equals(own)',
      '!header.entrySet().containsAll(own.entrySet())',
    ]),
    leftOut('alg', 'the name of the other algorithm', ['json("RS256")', 'header.get("alg")']),
    leftOut('kid', 'the kid of a retired key', [
      '"kid", json(pinned[0])',
      '"kid", header.get("kid")',
    ]),
    leftOut('typ', 'the other typ', ['json(typ)', 'header.get("typ")']),
    leftOut('the size of the key', 'a key of 2047 bits', [
      'if (modulus.bitLength() != 2048) continue;',
      '',
    ]),
    leftOut('the signature', 'a changed payload', [
      'if (!rsa.verify(fromBase64url(parts[2]))) continue;',
      '',
    ]),
    leftOut('aud', 'another product', ['claims.put("aud"', 'claims.remove("aud"']),
    leftOut('sub', 'another license key', ['claims.put("sub"', 'claims.remove("sub"']),
    leftOut('hwid', 'another machine', ['claims.put("hwid"', 'claims.remove("hwid"']),
    leftOut('nonce', 'another nonce', ['expected.put("nonce", json(nonce));', '']),
    leftOut('a new nonce', 'the same nonce', ['new SecureRandom().nextBytes(random);', '']),
    leftOut('valid is a boolean', 'valid as a text', [
      'if (valid.equals("true"))',
      'if (valid.contains("true"))',
    ]),
    leftOut('valid of the claims', 'a body that says valid', [
      'publicKeys.isEmpty() ? unsigned(text, status)',
      '!signed(text, hwid, nonce).isEmpty() ? unsigned(text, status)',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      '"licet-lease+jwt", expected(hwid)',
      '"licet-lease+jwt", isNew ? new HashMap<>() : expected(hwid)',
    ]),
    leftOut('the end of the lease', 'an expired lease', ['expires - now : 0', '1 : 0']),
    leftOut('the issue of the lease', 'a lease of the future', [
      'Math.max(issued, Long.parseLong(kept[1]))',
      'Long.parseLong(kept[1])',
    ]),
    leftOut('the latest time', 'a lease used in the future', [
      'Math.max(issued, Long.parseLong(kept[1]))',
      'issued',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if (isNew || now > seen)',
      'if (isNew)',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      'if (answer.state == State.REFUSED) Files.delete(markFile);',
      '',
    ]),
    leftOut('no mark counts', 'a mark file', [
      'if (!publicKeys.isEmpty()) leftSeconds',
      'if (false) leftSeconds',
    ]),
  ],
  'Licet17.java': [
    leftOut('strict base64url', 'unused bits in the signature', [
      'if (!base64url(bytes).equals(text)) throw',
      'if (false) throw',
    ]),
    leftOut('three parts', 'four parts', ['parts.length != 3 || ', '']),
    leftOut('a flat header', 'a critical extension', [
      'if (!object.substring(end).equals("}")) throw',
      'if (false) throw',
    ]),
    leftOut('no other header', 'an unknown extension', [
      '!header.equals(own)',
      '!header.entrySet().containsAll(own.entrySet())',
    ]),
    leftOut('alg', 'the name of the other algorithm', ['json("RS256")', 'header.get("alg")']),
    leftOut('kid', 'the kid of a retired key', [
      '"kid", json(pinned[0])',
      '"kid", header.get("kid")',
    ]),
    leftOut('typ', 'the other typ', ['json(typ)', 'header.get("typ")']),
    leftOut('the size of the key', 'a key of 2047 bits', [
      'if (modulus.bitLength() != 2048) continue;',
      '',
    ]),
    leftOut('the signature', 'a changed payload', [
      'if (!rsa.verify(fromBase64url(parts[2]))) continue;',
      '',
    ]),
    leftOut('aud', 'another product', ['"aud", json(String.valueOf(productId)), ', '']),
    leftOut('sub', 'another license key', ['"sub", json(sub), ', '']),
    leftOut('hwid', 'another machine', [', "hwid", json(hwid));', ');']),
    leftOut('nonce', 'another nonce', ['expected.put("nonce", json(nonce));', '']),
    leftOut('a new nonce', 'the same nonce', ['new SecureRandom().nextBytes(random);', '']),
    leftOut('valid is a boolean', 'valid as a text', [
      'switch (claims.getOrDefault("valid", ""))',
      'switch (claims.getOrDefault("valid", "").replace("\\"", ""))',
    ]),
    leftOut('valid of the claims', 'a body that says valid', [
      'publicKeys.isEmpty() ? unsigned(text, status)',
      '!signed(text, hwid, nonce).isEmpty() ? unsigned(text, status)',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      '"licet-lease+jwt", expected(hwid)',
      '"licet-lease+jwt", isNew ? new HashMap<>() : expected(hwid)',
    ]),
    leftOut('the end of the lease', 'an expired lease', ['expires - now : 0', '1 : 0']),
    leftOut('the issue of the lease', 'a lease of the future', [
      'Math.max(issued, Long.parseLong(kept[1]))',
      'Long.parseLong(kept[1])',
    ]),
    leftOut('the latest time', 'a lease used in the future', [
      'Math.max(issued, Long.parseLong(kept[1]))',
      'issued',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if (isNew || now > seen)',
      'if (isNew)',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      'if (reply.state == State.REFUSED) Files.delete(markFile);',
      '',
    ]),
    leftOut('no mark counts', 'a mark file', [
      'if (!publicKeys.isEmpty()) leftSeconds',
      'if (false) leftSeconds',
    ]),
  ],
  'Licet.cs': [
    leftOut('strict base64url', 'unused bits in the signature', [
      'if (Base64url(bytes) != text) throw',
      'if (false) throw',
    ]),
    leftOut('three parts', 'four parts', ['if (parts.Length != 3) return none;', '']),
    leftOut('a flat header', 'a critical extension', [
      'if (json.Substring(end) != "}") throw',
      'if (false) throw',
    ]),
    leftOut('no other header', 'an unknown extension', ['header.Count != own.Count || ', '']),
    leftOut('alg', 'the name of the other algorithm', ['Json("RS256")', 'header["alg"]']),
    leftOut('kid', 'the kid of a retired key', [
      '{ "kid", Json(pinned[0]) }',
      '{ "kid", header["kid"] }',
    ]),
    leftOut('typ', 'the other typ', ['Json(typ)', 'header["typ"]']),
    leftOut('the size of the key', 'a key of 2047 bits', [
      'modulus.Length != 256 || modulus[0] < 128 || ',
      '',
    ]),
    leftOut('the length of the signature', 'a zero before the signature', [
      ' || signature.Length != 256',
      '',
    ]),
    leftOut('the range of the signature', 'the signature and the modulus, added', [
      'if (string.CompareOrdinal(BitConverter.ToString(signature), BitConverter.ToString(modulus)) >= 0) continue;',
      '',
    ]),
    leftOut('the signature', 'a changed payload', [
      'if (!rsa.VerifyData(',
      'if (null == (object)rsa.VerifyData(',
    ]),
    leftOut('aud', 'another product', ['{ "aud", Json(ProductId.ToString()) }, ', '']),
    leftOut('sub', 'another license key', ['{ "sub", Json(sub) }, ', '']),
    leftOut('hwid', 'another machine', [', { "hwid", Json(hwid) } };', ' };']),
    leftOut('nonce', 'another nonce', ['expected["nonce"] = Json(nonce);', '']),
    leftOut('a new nonce', 'the same nonce', [
      'source.GetBytes(random);',
      'source.GetBytes(new byte[1]);',
    ]),
    leftOut('valid is a boolean', 'valid as a text', [
      'if (valid == "true") return',
      'if ((valid ?? "").Contains("true")) return',
    ]),
    leftOut('valid of the claims', 'a body that says valid', [
      'PublicKeys == "" ? Unsigned(text, status)',
      'Signed(text, hwid, nonce).Count > 0 ? Unsigned(text, status)',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      '"licet-lease+jwt", Expected(hwid)',
      '"licet-lease+jwt", isNew ? new Dictionary<string, string>() : Expected(hwid)',
    ]),
    leftOut('the end of the lease', 'an expired lease', ['(expires - now) / 3600.0 : 0', '1 : 0']),
    leftOut('the issue of the lease', 'a lease of the future', [
      'Math.Max(issued, long.Parse(kept[1]))',
      'long.Parse(kept[1])',
    ]),
    leftOut('the latest time', 'a lease used in the future', [
      'Math.Max(issued, long.Parse(kept[1]))',
      'issued',
    ]),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if (isNew || now > seen)',
      'if (isNew)',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      'if (answer.State == State.Refused) File.Delete(MarkFile);',
      '',
    ]),
    leftOut('no mark counts', 'a mark file', ['if (PublicKeys != "") hours', 'if (false) hours']),
  ],
  'licet.go': [
    leftOut('strict base64url', 'unused bits in the signature', [
      'err != nil || base64url(bytes) != text',
      'err != nil',
    ]),
    leftOut('three parts', 'four parts', ['len(parts) != 3', 'len(parts) < 3']),
    leftOut('the length of the signature', 'a zero within the signature', [
      'len(signature) != 64',
      'len(signature) < 64',
    ]),
    leftOut(
      'no other header',
      'an unknown extension',
      ['\t"reflect"\n', ''],
      [
        '!reflect.DeepEqual(said, claims{"alg": "ES256", "kid": kid, "typ": typ})',
        'said["alg"] != "ES256" || said["kid"] != kid || said["typ"] != typ',
      ],
    ),
    leftOut('alg', 'the name of the other algorithm', ['"alg": "ES256"', '"alg": said["alg"]']),
    leftOut(
      'kid',
      'the kid of a retired key',
      ['"kid": kid, "typ"', '"kid": said["kid"], "typ"'],
      ['kid, point, _ :=', '_, point, _ :='],
    ),
    leftOut('typ', 'the other typ', ['"typ": typ})', '"typ": said["typ"]})']),
    leftOut('a point of the curve', 'a key that is no point of the curve', [
      '!public.IsOnCurve(public.X, public.Y) ||',
      '',
    ]),
    leftOut('the signature', 'a changed payload', ['!ecdsa.Verify(', 'false && !ecdsa.Verify(']),
    leftOut('aud', 'another product', ['"aud": strconv.Itoa(program.ProductID), ', '']),
    leftOut('sub', 'another license key', [
      'if found[name] != value',
      'if name != "sub" && found[name] != value',
    ]),
    leftOut('hwid', 'another machine', [', "hwid": hwid}\n}', '}\n}']),
    leftOut('nonce', 'another nonce', ['expected["nonce"] = nonce', '']),
    leftOut('a new nonce', 'the same nonce', ['rand.Read(random)', 'rand.Read(nil)']),
    leftOut('valid is a boolean', 'valid as a text', ['case true:', 'case true, "true":']),
    leftOut('valid of the claims', 'a body that says valid', [
      'believed = program.verified(said["signed"], "licet-validation+jwt", expected)',
      'if program.verified(said["signed"], "licet-validation+jwt", expected) == nil {\nbelieved = nil\n}',
    ]),
    leftOut('the lease that is kept', 'a lease that is kept unseen', [
      'program.lease(answer.lease, hwid); ok {',
      'program.lease(answer.lease, hwid); ok || !ok {',
    ]),
    leftOut('a lease with its issue', 'a lease without its issue', [
      'int64(exp), ok',
      'int64(exp), ok || true',
    ]),
    leftOut('a lease with the latest time', 'a lease without the latest time', [
      'if ok && err == nil && now >= seen-3600',
      'if ok && now >= seen-3600',
    ]),
    leftOut('the end of the lease', 'an expired lease', [
      'float64(expires-now) / 3600',
      'float64(expires)',
    ]),
    leftOut('the issue of the lease', 'a lease of the future', [
      'if issued > seen {',
      'if false {',
    ]),
    leftOut('the latest time', 'a lease used in the future', ['if issued > seen {', 'if true {']),
    leftOut('the latest time is kept', 'a clock that is set back', [
      'if ok && err == nil && now > seen {',
      'if false {',
    ]),
    leftOut('a refusal ends the lease', 'a lease after a refusal', [
      '_ = os.Remove(program.MarkFile)',
      '',
    ]),
    leftOut('no mark counts', 'a mark file', [
      'if program.PublicKeys == "" {\n\t\tseconds',
      'if true {\n\t\tseconds',
    ]),
  ],
};
