import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { type LinkFault, PORTAL_PATH } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { change, type Sender } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import { customers, portalCodes, portalSessions } from '../../db/schema.ts';
import { toBase64url } from '../../lib/base64url.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { IS_FORGOTTEN } from '../customers/row.ts';

/** The links to the customer's page, and its sessions (10). Only hashes of their secrets are stored. */

const LINK_LIFE_MS = 15 * MINUTE_MS;
export const PORTAL_SESSION_SECONDS = DAY_MS / 1000;

const newSecret = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

/**
 * Makes a link that opens the page once, within 15 minutes.
 *
 * @param origin that of the service, as others get it (3.3)
 * @throws DomainError for a customer that there is not
 */
export async function createPortalLink(sender: Sender, customerId: number, origin: string) {
  const { db, now } = sender;
  const code = newSecret();
  const unknown = `customerId ${customerId} does not exist, or is forgotten`;
  await change(sender, {
    event: { type: 'customer.link_created', id: customerId, changes: null },
    when: [
      {
        constraint: 'customer_exists',
        holds: sql`exists (select 1 from ${customers} where ${eq(customers.id, customerId)} and not (${IS_FORGOTTEN}))`,
        error: new DomainError('invalid', unknown, 'customerId'),
      },
    ],
    statements: {
      code: db
        .insert(portalCodes)
        .values({ codeHash: await sha256Hex(code), customerId, createdAt: now }),
    },
  });
  return {
    // After `#`: neither a server log nor a Referer has it.
    url: `${origin}${PORTAL_PATH}#code=${code}`,
    customerId,
    expiresAt: toTimestamp(now + LINK_LIFE_MS),
  };
}

/**
 * Opens a session with the code of a link, which is used up by it.
 *
 * @param replaced the session that the browser had, which ends
 * @returns the secret of the session, or why the link opens none
 */
export async function redeemCode(
  db: Database,
  code: string,
  replaced: string | undefined,
  now: number,
): Promise<{ session: string } | { fault: LinkFault }> {
  const codeHash = await sha256Hex(code);
  const session = newSecret();
  const isUsable = and(
    eq(portalCodes.codeHash, codeHash),
    isNull(portalCodes.usedAt),
    gt(portalCodes.createdAt, now - LINK_LIFE_MS),
  );
  const { opened, found } = await batch(db, {
    opened: db
      .insert(portalSessions)
      .select(
        sql`select ${await sha256Hex(session)}, customer_id, ${now} from ${portalCodes} where ${isUsable}`,
      )
      .returning(),
    replaced:
      replaced === undefined
        ? []
        : [
            db
              .delete(portalSessions)
              .where(
                and(
                  eq(portalSessions.sessionHash, await sha256Hex(replaced)),
                  sql`exists (select 1 from ${portalCodes} where ${isUsable})`,
                ),
              ),
          ],
    used: db.update(portalCodes).set({ usedAt: now }).where(isUsable),
    found: db.select().from(portalCodes).where(eq(portalCodes.codeHash, codeHash)),
  });
  if (opened.length > 0) return { session };
  const [known] = found;
  if (!known) return { fault: 'unknown' };
  return { fault: known.usedAt === null ? 'expired' : 'used' };
}

/** The customer of a session; null for one that is over. */
export async function findPortalCustomer(
  db: Database,
  sessionHash: string,
  now: number,
): Promise<number | null> {
  const row = await db
    .select({ customerId: portalSessions.customerId })
    .from(portalSessions)
    .where(
      and(
        eq(portalSessions.sessionHash, sessionHash),
        gt(portalSessions.createdAt, now - PORTAL_SESSION_SECONDS * 1000),
      ),
    )
    .get();
  return row?.customerId ?? null;
}

export async function endPortalSession(db: Database, secret: string): Promise<void> {
  await db.delete(portalSessions).where(eq(portalSessions.sessionHash, await sha256Hex(secret)));
}

/** The statements that end all sessions and links of a customer. */
export const endPortalOf = (db: Database, customerId: number) => [
  db.delete(portalSessions).where(eq(portalSessions.customerId, customerId)),
  db.delete(portalCodes).where(eq(portalCodes.customerId, customerId)),
];
