import { type SQL, sql } from 'drizzle-orm';
import { nextRevisionSql, type Touch } from '../../db/outbox.ts';
import { licenses } from './schema.ts';

/** The snapshots of licenses that a change makes stale. */

/** Licenses that will have a revision. */
export const touchNewLicenses = (normalizedKeys: readonly string[], revision: number): Touch => ({
  rows: sql`select 'license:' || value, ${revision} from json_each(${JSON.stringify(normalizedKeys)})`,
});

/** A license that will have a revision. */
export const touchLicense = (normalizedKey: string, revision: number): Touch => ({
  rows: sql`select ${`license:${normalizedKey}`}, ${revision}`,
});

/** The licenses that match, which will have their next revision. */
export const touchLicenses = (where: SQL | undefined, now: number): Touch => ({
  rows: sql`select 'license:' || ${licenses.licenseKeyNormalized}, ${nextRevisionSql(licenses.revision, now)}
    from ${licenses} where ${where}`,
});
