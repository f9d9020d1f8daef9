import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { DomainError } from '../../lib/errors.ts';

/**
 * Checks that no market sells a product that is deleted: its buyers would pay and get no license (9). A product that still
 * has licenses cannot be deleted anyway.
 *
 * @throws DomainError that names the markets
 */
export async function checkUnsold(db: Database, productId: number): Promise<void> {
  const sellers = await db.all<{ name: string }>(
    sql`select name from markets where exists (
        select 1 from json_each(products) where value ->> 'productId' = ${productId})
      and not exists (
        select 1 from licenses where product_id = ${productId} and state <> 'DELETED')
    order by id`,
  );
  if (sellers.length === 0) return;
  const names = sellers.map(({ name }) => JSON.stringify(name)).join(', ');
  throw new DomainError(
    'conflict',
    `The product is sold at ${names}: remove it there first, or send evenIfSold=true (--even-if-sold)`,
  );
}
