import { decimalsOf } from '@licet/contract/currencies';
import type { PurchaseStatistics } from '@licet/contract/purchases';
import { toTimestamp } from '@licet/contract/time';
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isPlaceholderSql } from './placeholders.ts';

/** The sales of a period (9). */

const IS_NO_TEST: SQL = sql`unit = 0 and is_test = 0 and facts ->> 'entered' is null`;

/** Whether a row was paid: no test, no further license of a quantity, and none that a person entered. */
const isSale: SQL = sql`${IS_NO_TEST} and (${isPlaceholderSql}) is not true`;

/** Whether a row is a sale that got its license. The index `purchases_sold` has the same condition. */
export const hasLicense: SQL = sql`${IS_NO_TEST} and license_id is not null`;

/** The reasons of refunds, and of disputes, as purchases have them. */
const REFUNDED: SQL = sql`(reason like '%refunded%' or reason like '%removed%' or reason like '%missing%')`;
const DISPUTED: SQL = sql`(reason like '%dispute%')`;

/** An amount has at most four decimals. */
const PARTS = 10_000;

/** A sum of such parts, with the decimals of its currency or those that it needs. */
function amountOf(parts: number, currency: string | null): string {
  const text = (parts / PARTS).toFixed(4);
  const least = text.length - 4 + decimalsOf(currency);
  let end = text.length;
  while (end > least && text[end - 1] === '0') end--;
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end);
}

/** Reads the sales and refunds of a period, at the markets that there are. Both ends are inclusive. */
export async function readSales(
  db: Database,
  { from, to }: { from: number; to: number },
): Promise<PurchaseStatistics> {
  const [sold, revoked] = await Promise.all([
    db.all<{ currency: string | null; purchases: number; known: number; parts: number | null }>(
      sql`select currency, count(*) as purchases, count(amount) as known,
        sum(cast(round(amount * ${PARTS}) as integer)) as parts
      from (select id as market from markets) cross join purchases
        on market_id = market and created_at between ${from} and ${to}
      where ${isSale} group by currency order by count(*) desc, currency`,
    ),
    // The plus sign keeps SQLite from reading all purchases of the markets.
    db.get<{ refunded: number; disputed: number }>(
      sql`select count(*) filter (where ${REFUNDED}) as refunded,
        count(*) filter (where ${DISPUTED} and not ${REFUNDED}) as disputed
      from purchases where revoked_at between ${from} and ${to} and ${isSale}
        and +market_id in (select id from markets)`,
    ),
  ]);
  return {
    from: toTimestamp(from),
    to: toTimestamp(to),
    sold: sold.reduce((sum, one) => sum + one.purchases, 0),
    amounts: sold.flatMap(({ currency, known, parts }) =>
      known === 0 ? [] : [{ currency, amount: amountOf(parts ?? 0, currency) }],
    ),
    ...revoked,
  };
}
