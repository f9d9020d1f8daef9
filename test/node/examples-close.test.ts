import { beforeAll, expect, it, vi } from 'vitest';
import { built, nowSeconds, readIfThere, runnable, startDriver } from './example-programs.ts';
import { newKeys } from './forged-responses.ts';
import { ownFolder } from './own.ts';
import {
  honestBy,
  type SignedService,
  startSignedService,
  type Validate,
  validatorIn,
} from './signed-service.ts';

/** The examples whose objects can be closed: a plugin closes them when the server disables it. */

const CLOSABLE = ['Licet.java', 'Licet17.java', 'Licet.cs'];
const folder = ownFolder();
const keys = newKeys('RS256');
const validates = new Map<string, Validate>();
const tried = runnable.filter(({ file }) => CLOSABLE.includes(file));
let service: SignedService;

beforeAll(async () => {
  service = await startSignedService();
  const places = await Promise.all(tried.map(built));
  for (const [at, program] of tried.entries()) {
    const drive = startDriver(places[at] ?? '', program);
    validates.set(
      program.file,
      validatorIn(folder, () => service, drive, keys),
    );
  }
});

it.skipIf(tried.length === 0).each(tried.map(({ file }) => file))(
  '%s asks no more after its end, and asks again once if it checked twice',
  async (file) => {
    const validate = validates.get(file);
    if (!validate) throw new Error(`${file} has no driver`);
    const checkAfter = nowSeconds() + 4;
    const respond = honestBy(keys.pinned, { claims: { checkAfter } });
    const closed = await validate({ respond, call: 'check and close' });
    expect(closed.state).toBe('valid');
    const twice = await validate({
      call: 'check twice',
      respond: (asked, nth) => {
        const claims = { checkAfter: checkAfter + 1 };
        return honestBy(keys.pinned, { valid: nth < 3, claims })(asked, nth);
      },
    });
    expect(twice.state).toBe('valid');
    const later = () => readIfThere(`${twice.path}.later`);
    await vi.waitUntil(() => later() !== undefined, { timeout: 20_000, interval: 50 });
    // A second one that asked at the same time would have been heard by now.
    await validate({});
    expect(later()).toBe('refused\n');
    expect(twice.asked).toHaveLength(3);
    expect(closed.asked).toHaveLength(1);
  },
);
