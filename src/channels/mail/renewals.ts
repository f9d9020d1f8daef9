import { type SQL, sql } from 'drizzle-orm';
import { ADAPTERS } from '../markets/adapters.ts';

/** The rules of markets for the mails of their buyers (13), in SQL. */

const MAILING = Object.entries(ADAPTERS).flatMap(([kind, { mailsKey }]) => (mailsKey ? kind : []));

/** Whether a market has sold a license `l` that gives its buyers the key itself, or whose seller wants no mail. */
export const SELLS_BY_ITSELF = sql`exists (
  select 1 from purchases p cross join markets k on k.id = p.market_id
  where p.license_id = l.id and not ifnull(k.mails_key,
    k.kind in (select value from json_each(${JSON.stringify(MAILING)}))))`;

/** A time among the facts of a purchase and its subjects. */
const latest = (name: string): string =>
  `max(max(ifnull(p.facts ->> '${name}', 0), ifnull(s.facts ->> '${name}', 0)))`;

/** Whether a subscription goes on, and was not canceled for its end. A canceled one is still active. */
function goesOn(): SQL {
  const runs = `max(${latest('active')}, ${latest('continued')})`;
  return sql.raw(`${runs} > max(0, ${latest('ended')}, ${latest('cancels')})`);
}

/** Whether a license `l` is of a subscription that renews it: by the facts of its purchase, its order, and what that is of. */
export const RENEWS = sql`exists (
  select 1 from purchases p left join market_orders s on s.market_id = p.market_id and s.order_id in (p.order_id,
      (select o.parent from market_orders o where o.market_id = p.market_id and o.order_id = p.order_id))
    where p.license_id = l.id and p.state = 'GRANTED' group by p.id having ${goesOn()})`;
