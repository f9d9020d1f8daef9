/** Suggests the right field for an unknown name. */

/** Names in the tables of shops and other services, in folded form, by the field that they mean. */
const SYNONYMS = Object.entries({
  licenseKey: 'key license licence licencekey serial serialnumber code',
  productId: 'product productname productcode productshortcode plugin resource resourceid',
  licenseType: 'type kind plan',
  productType: 'type kind',
  licenseDataType: 'type kind',
  licenseStatus:
    'status state active isactive enabled isenabled valid isvalid suspended issuspended suspendedat revoked isrevoked ' +
    'revokedat banned isbanned bannedat blocked isblocked disabled isdisabled disabledat deactivated isdeactivated ' +
    'deactivatedat inactive cancelled canceled iscancelled iscanceled cancelledat canceledat refunded isrefunded ' +
    'refundedat deleted isdeleted deletedat expired isexpired terminated isterminated terminatedat paused ispaused ' +
    'pausedat locked islocked lockedat frozen isfrozen frozenat archived isarchived archivedat voided isvoided voidedat',
  expiryDate:
    'expires expiresat expireson expire expiry expiryat expirydate expiration expirationdate expirationtime validuntil ' +
    'validto validtill until enddate endsat ends endat end termend currentperiodend licenseexpiry licenseexpires ' +
    'licenseexpiration duedate renewaldate renewsat subscriptionend subscriptionends subscriptionenddate',
  expiresAfterDays: 'validfor validdays daysvalid days duration durationdays',
  ips: 'ip address addresses ipaddress ipaddresses boundip boundips',
  hwids: 'hwid hardwareid hardwareids machineid machineids fingerprint fingerprints',
  maxIPs: 'iplimit iplimits maxip maxaddresses addresslimit',
  maxHWIDs:
    'hwidlimit maxhwid maxmachines machinelimit maxdevices devicelimit maxactivations activationlimit activationslimit ' +
    'timesactivatedmax maxinstances instancelimit maxinstallations seats seatlimit limit usagelimit devices slots ' +
    'machines installs installations',
  ownerChatId: 'discord discordid discorduserid discorduser chat chatuserid',
  chatId: 'discord discordid discorduserid discorduser chat chatuserid',
  ownerChatUsername: 'discordname discordusername discordtag chatname',
  chatUsername: 'discordname discordusername discordtag chatname',
  ownerPlatformId: 'userid customerid buyerid memberid ownerid',
  totalRequests: 'requests validations',
  marketId: 'market',
  item: 'itemid product productid package packageid resource resourceid sku price priceid',
  reference: 'orderline orderlineid lineid transaction transactionid payment paymentid',
  order: 'orderid ordernumber invoice invoiceid paymentintent paymentintentid',
  state: 'status refunded isrefunded disputed',
  buyerId: 'buyer customer customerid user userid member memberid',
  buyerName: 'customername username membername email customeremail',
  licenseId: 'license',
  notes: 'note comment comments remark remarks',
  reason: 'note notes comment comments',
  data: 'value ip hwid address',
  createdDate: 'created createdat createdon dateadded purchasedate purchasedat orderdate',
  createdAt: 'created createddate createdon',
  updatedDate: 'updated updatedat',
  updatedAt: 'updated updateddate',
  email:
    'mail emailaddress customer customeremail buyer buyeremail owner owneremail user useremail',
  phoneNumber: 'phone',
  firstName: 'name customername buyername',
}).map(([field, words]) => [field, words.split(' ')] as const);

/** A name without regard to case, blanks and signs, and to the suffixes of Stripe: `Created (UTC)`. */
export const foldName = (name: string): string =>
  name
    .replace(/\((?:utc|metadata)\)$/i, '')
    .replaceAll(/[\s_.-]+/g, '')
    .toLowerCase();

/** The field that differs from a name in nothing but case, blanks and signs. */
export const fieldLike = (fields: readonly string[], name: string): string | undefined => {
  const word = foldName(name);
  // The id of a customer elsewhere is not the id here, so that one is written with its dot.
  return fields.find(
    (field) =>
      field === name ||
      (foldName(field) === word && (field !== 'customer.id' || name.includes('.'))),
  );
};

/** The number of letters to insert, delete or replace (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (other[index] === letter ? 0 : 1);
      next.push(Math.min(replaced, above + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const MIN_MISSPELT_LENGTH = 4;
const MAX_LENGTH = 60;

/** The field with at most one wrong letter in each four, and at most two. */
function nearestField(fields: readonly string[], word: string): string | undefined {
  if (word.length < MIN_MISSPELT_LENGTH || word.length > MAX_LENGTH) return undefined;
  const distances = fields.map((field) => distance(word, foldName(field)));
  const least = Math.min(...distances);
  return least <= Math.min(2, word.length / 4) ? fields[distances.indexOf(least)] : undefined;
}

/** The field that an unknown name probably means. */
export function meantField(fields: readonly string[], name: string): string | undefined {
  const word = foldName(name);
  const [synonym] = SYNONYMS.flatMap(([field, words]) => {
    if (!words.includes(word)) return [];
    return [field, `customer.${field}`].filter((each) => fields.includes(each));
  });
  return (
    fieldLike(fields, name) ??
    synonym ??
    fieldLike(fields, `customer.${name}`) ??
    nearestField(fields, word)
  );
}
