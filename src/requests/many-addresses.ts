import { DAY_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import { NO_INSTALLATION, NO_PRODUCT } from '../db/codes.ts';
import { BUCKETS_A_DAY, timeOfBucket } from '../lib/time-id.ts';
import { recentRecords } from '../resources/licenses/totals.ts';
import { ALERTS_SINCE, IS_COVERED } from './alerts.ts';
import { requests } from './schema.ts';

/** Installations of a license whose addresses are counted, the newest first: a key holder can make up any number. */
const MAX_INSTALLATIONS = 1_000;

/**
 * Selects the alerts about licenses with requests in a bucket, and from too many addresses in the 24 hours to its end (8).
 * Most have few installations, which are counted first.
 *
 * @param manyAddresses a license with more addresses is used from many
 */
export function selectManyAddresses(bucket: number, manyAddresses: number): SQL {
  const firstBucket = bucket - BUCKETS_A_DAY + 1;
  const end = timeOfBucket(bucket + 1);
  const day = Math.floor(timeOfBucket(bucket) / DAY_MS) * DAY_MS;
  const wasSeen = sql`(
    i.last_seen_at between ${timeOfBucket(firstBucket)} and ${end - 1}
    or exists (
      select 1 from ${recentRecords('i', bucket)} and b.bucket >= ${firstBucket}))`;
  // Records without a license sort first in their bucket, so a range skips them.
  return sql`
    with asking as materialized (
      select distinct i.license_id
      from (
        select distinct product_id, installation_id from ${requests}
        where bucket = ${bucket} and ${ALERTS_SINCE} < ${end}
          and (product_id, installation_id) > (${sql.raw(`${NO_PRODUCT}, ${NO_INSTALLATION}`)})) s
        cross join installations i on i.id = s.installation_id)
    select license_id, type, covered_from,
      json_object('addresses', json_object('before', null, 'after', addresses)) as changes
    from (
      select c.*, (
        select count(distinct i.ip) from (
          select * from installations where license_id = c.license_id
          order by first_seen_at desc limit ${MAX_INSTALLATIONS}) i
        where i.ip is not null and ${wasSeen}) as addresses
      from (
        select license_id, 'license.many_addresses' as type, ${day} as covered_from from asking) c
      where not ${IS_COVERED}
        and (select count(*) from (
          select 1 from installations where license_id = c.license_id
          limit ${manyAddresses} + 1)) > ${manyAddresses})
    where addresses > ${manyAddresses}`;
}
