import type { License } from '@licet/client';

/** The best available name of the owner of a license; empty without an owner. */
export function ownerOf({
  customer,
  ownerChatUsername,
  ownerChatId,
  ownerPlatformId,
}: License): string {
  const name = [customer?.firstName, customer?.lastName].filter(Boolean).join(' ');
  return (
    name ||
    customer?.email ||
    customer?.username ||
    ownerChatUsername ||
    ownerChatId ||
    ownerPlatformId
  );
}
