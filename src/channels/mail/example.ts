import { DAY_MS } from '@licet/contract/durations';
import type { MailTextKind } from '@licet/contract/mail-kinds';
import { PORTAL_PATH } from '@licet/contract/portal-page';
import { linkAddress } from '../portal/sessions.ts';

const DAYS = 7;

/** The made-up values of a preview. @param now milliseconds since 1970 */
export function examplesOf(kind: MailTextKind, origin: string, now: number) {
  const licenses = [
    { product: 'ChunkGuard', keyEnd: '7Q2M', expiry: now + DAYS * DAY_MS, days: DAYS },
    { product: 'ChestShop', keyEnd: 'K4WD', expiry: now + DAYS * DAY_MS, days: DAYS },
  ];
  return {
    values: {
      name: 'Ada',
      product: 'ChunkGuard',
      key: kind === 'key' ? 'A1B2-C3D4-E5F6-G7H8-7Q2M' : '',
      expiry: now + DAYS * DAY_MS,
      days: DAYS,
      link: kind === 'link' ? linkAddress(origin, 'example') : `${origin}${PORTAL_PATH}`,
    },
    licenses: kind === 'expiring' ? licenses : [],
  };
}
