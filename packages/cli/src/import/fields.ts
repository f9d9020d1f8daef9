import type { Kind } from './kinds.ts';

/** The fields of an import, to suggest the right one for a misspelt name. */

const namesIn = (text: string): string[] => text.trim().split(/\s+/);

const PRODUCT = namesIn(`
  id name description productType productTypeOther createdDate updatedDate defaultMaxIPs defaultMaxHWIDs
  roleId purchaseRoleId url imageUrl offlineDays`);

const CUSTOMER = namesIn(`
  id createdAt firstName lastName username email phoneNumber profilePictureUrl role status
  chatId chatUsername chatAvatarUrl platformAId platformAUsername platformBId platformBUsername
  platformCId platformCUsername marketAId marketAUsername marketBId marketBUsername`);

const LICENSE = namesIn(`
  id licenseKey productId licenseType expiryDate licenseStatus maxIPs maxHWIDs ips hwids totalRequests
  createdDate updatedDate licensePlatform licensePlatformOther ownerPlatformId ownerChatId
  ownerChatUsername notes customer`);

const BLACKLIST = namesIn(`
  id licenseDataType data isForAllProducts productId reason createdAt updatedAt`);

export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  products: PRODUCT,
  customers: CUSTOMER,
  licenses: [...LICENSE, ...CUSTOMER.map((name) => `customer.${name}`)],
  blacklists: BLACKLIST,
};

const folded = (name: string): string => name.replaceAll(/[\s_-]+/g, '').toLowerCase();

/** The field whose name differs from the given one only by case, `_`, `-` or blanks. */
export const meantField = (kind: Kind, name: string): string | undefined =>
  FIELDS[kind].find((field) => folded(field) === folded(name));
