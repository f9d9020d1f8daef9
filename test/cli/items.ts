import { appendFileSync, writeFileSync } from 'node:fs';

/** Items of a shop, for imports and exports. */

export type Fields = Record<string, unknown>;

export const PRODUCT_ID = 600;

export const productOf = (id: number, fields: Fields = {}): Fields => ({
  id,
  name: `Product ${id}`,
  productType: 'OTHER',
  createdDate: '2019-05-06T07:08:09.010+00:00',
  ...fields,
});

export const licenseOf = (id: number, fields: Fields = {}): Fields => ({
  id,
  licenseKey: `Key-${id}`,
  productId: PRODUCT_ID,
  licenseType: 'PERMANENT',
  licenseStatus: id % 7 === 5 ? 'DELETED' : 'ACTIVE',
  hwids: [`hw ${id}`],
  ips: [`11.${id >> 16}.${(id >> 8) & 255}.${id & 255}`],
  customer: { email: `ada.${Math.ceil(id / 3)}@shop.example` },
  ...fields,
});

export const numbers = (count: number, first = 1): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

/** The lines of a .jsonl file. */
export const lines = (items: readonly object[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('');

/** The objects of a .jsonl file. */
export const parseLines = (text: string): unknown[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));

/** Writes the file of a whole shop, a part at a time. */
export function writeShop(file: string, licenses: number, notes: string): void {
  writeFileSync(file, lines([{ product: productOf(PRODUCT_ID) }]));
  for (let first = 1; first <= licenses; first += 1_000) {
    const ids = numbers(Math.min(1_000, licenses - first + 1), first);
    appendFileSync(file, lines(ids.map((id) => ({ license: licenseOf(id, { notes }) }))));
  }
  appendFileSync(file, lines([{ end: { products: 1, licenses } }]));
}
