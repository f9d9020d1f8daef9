import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalizeLicenseKey } from '../../src/resources/licenses/key.ts';
import { cutLoggedKey, parseRequest } from '../../src/validation/request.ts';

const parse = (body: unknown, connectingAddress: string | null = '192.0.2.1') =>
  parseRequest(typeof body === 'string' ? body : JSON.stringify(body), connectingAddress, true);

/** Objects with the names that are read, and values of every kind that JSON has. */
const body = fc.dictionary(
  fc.constantFrom('licenseKey', 'productId', 'hwid', 'ip', 'osVersion', 'javaVersion', '__proto__'),
  fc.oneof(
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(602, '602', 'KEY', 'null', '', ' ', '\0', '\uD800', '1.2.3.4', 'x'.repeat(600)),
  ),
);

it('parseRequest never throws, and takes nothing that could not be stored and compared', () => {
  fc.assert(
    fc.property(fc.oneof(body, fc.string({ unit: 'binary' })), (sent) => {
      const parsed = parse(sent);
      const read = parsed.ok ? parsed.request : parsed.partial;
      const texts = [read.licenseKey, read.ip, read.hwid, ...Object.values(read.logged)];
      for (const text of texts.filter((value) => value !== null)) {
        expect(text).not.toBe('');
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toContain('\0');
      }
      expect(read.hwid?.length ?? 0).toBeLessThanOrEqual(512);
      expect(read.key).toBe(read.licenseKey === null ? null : normalizeLicenseKey(read.licenseKey));
      if (parsed.ok) expect(Number.isSafeInteger(parsed.request.productId)).toBe(true);
      else expect(parsed.message).toMatch(/^(Body|licenseKey|productId|hwid) (is|must be) /);
    }),
    { numRuns: 1_000 },
  );
});

it('parseRequest reads fields of the body only, not what objects inherit', () => {
  const inherited = parse('{"__proto__":{"licenseKey":"KEY","productId":602}}');
  expect(inherited).toMatchObject({ ok: false, message: 'licenseKey is required' });
});

it('normalizeLicenseKey returns one text for all spellings of a key, and returns it again for itself', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', ' ', '\r\n', '\uFEFF'),
      (key, blank) => {
        const normalized = normalizeLicenseKey(key);
        expect(normalizeLicenseKey(`${blank}${key}${blank}`)).toBe(normalized);
        expect(normalizeLicenseKey(normalized)).toBe(normalized);
      },
    ),
  );
});

it('cutLoggedKey cuts at 255 characters and leaves no half of a pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600, size: 'max' }), (text) => {
      const cut = cutLoggedKey(text.toWellFormed()) ?? '';
      expect(cut).toHaveLength(Math.min(text.toWellFormed().length, 255));
      expect(cut.isWellFormed()).toBe(true);
    }),
  );
  expect(cutLoggedKey(`${'x'.repeat(254)}😀`)).toBe(`${'x'.repeat(254)}\uFFFD`);
  expect(cutLoggedKey(null)).toBeNull();
});
