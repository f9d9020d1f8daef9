import { sql } from 'drizzle-orm';

/**
 * The column `totalRequests` of a select from the licenses: what was counted earlier or elsewhere, and
 * what was recorded here [2.2]. The outer columns are spelled out, as in `bindings.ts`.
 */
export const totalRequests = sql`licenses.total_requests + ifnull(
  (select requests from license_totals where license_id = licenses.id), 0)`
  .mapWith(Number)
  .as('totalRequests');
