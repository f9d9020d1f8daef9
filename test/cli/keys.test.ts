import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, expect, it } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { sharedService } from '../node/shared-service.ts';
import { isLong } from '../support/long.ts';
import { KEY, SPOILT } from '../support/spoilt-keys.ts';
import { runHere } from './run-command.ts';

/** Keys as people read them (decision 1.2), on the command line. */

let address: string;
beforeAll(async () => {
  const folder = ownFolder();
  address = await sharedService();
  const licet = new Licet({ url: address, token: readRootToken() });
  const { id: productId } = await licet.products.create({ name: 'Guard', productType: 'OTHER' });
  const item = { licenseKey: KEY, productId, licenseType: 'PERMANENT', maxIPs: -1 };
  const file = join(folder, 'keys.json');
  writeFileSync(file, JSON.stringify([item]));
  const imported = await runHere('import', [file, '--kind', 'licenses'], {
    LICET_URL: address,
  });
  expect(imported).toMatchObject({ code: 0 });
  await licet.validate({ licenseKey: `${KEY}.`, productId });
});

const run = (...args: string[]) => runHere('licet', ['--json', ...args], { LICET_URL: address });

// test/conformance/1.2-keys.test.ts has all of them at the service.
it.each(Object.entries(SPOILT).filter((_, index) => isLong || index % 10 === 0))(
  'licenses find, licenses show and history --key take a key as a person reads it: %s',
  async (_, sent) => {
    const license = expect.stringMatching(new RegExp(`"licenseKey":"${KEY}"`));
    expect(await run('licenses', 'find', '--', sent)).toMatchObject({ code: 0, stdout: license });
    expect(await run('licenses', 'show', '--', sent)).toMatchObject({ code: 0, stdout: license });
    expect(await run('history', `--key=${sent}`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`"licenseKey":"${KEY}\\."`)),
    });
  },
);
