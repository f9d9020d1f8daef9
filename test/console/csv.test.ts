import { columnsOf, toItem } from '@licet/cli/import/columns';
import { readItem } from '@licet/cli/import/foreign-items';
import { readRows } from '@licet/cli/import/rows';
import { expect, it } from 'vitest';
import { ItemRows } from '../../console/src/csv.ts';

/** The CSV files of the console. */

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

it('entitlements and their ends are one cell each in a CSV file, which an import reads as they were [11.6]', async () => {
  const entitlements = { build: '7', edition: 'gold', max_players: -1, pro: true, trial: null };
  const entitlementsExpire = { edition: '2099-12-31T23:59:59.000+00:00' };
  const rows = new ItemRows('licenses');
  rows.add({
    ...{ licenseKey: 'K', productId: 1, entitlements, entitlementsExpire },
    effectiveEntitlements: { edition: 'gold', max_players: -1, pro: true },
  });
  const [header = '', row = ''] = rows.parts();
  const file = header.replace('\uFEFF', '') + row;
  expect(row).toContain('"build=""7"";edition=gold;max_players=-1;pro;!trial"');
  expect(row).toContain(',edition=2099-12-31T23:59:59.000+00:00,');
  expect(header).not.toContain('effectiveEntitlements');
  for await (const { item, headings = [] } of readRows(file, once(file))) {
    const columns = columnsOf('licenses', headings);
    expect(columns).toMatchObject({ open: [], twice: [], missing: [] });
    expect(readItem('licenses', toItem(item, columns))).toMatchObject({
      item: { licenseKey: 'K', entitlements, entitlementsExpire },
      ignored: [],
    });
  }
  expect.assertions(5);
});
