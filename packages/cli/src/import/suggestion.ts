import { ENDING_NAMES, nameOfLicense } from './words.ts';

/** Suggests the right field for an unknown name. */

/** Names in the tables of shops and other services, in folded form, by the field that they mean. */
const SYNONYMS = Object.entries({
  licenseKey: 'key license licence licencekey serial serialnumber code',
  productId: 'product productname productcode productshortcode plugin resource resourceid',
  licenseType: 'type kind plan',
  productType: 'type kind',
  licenseDataType: 'type kind',
  expiryDate:
    'expires expiresat expireson expire expiredate expireat expiretime expiredat expiredon expireddate expiry expiryat ' +
    'expirydate expirytime dateexpiry expdate expiration expirationdate expirationtime expiresin validuntil validto ' +
    'validtill validthru validthrough validityperiod validityend gooduntil until enddate endtime endson endsat ends endat ' +
    'end ended endedat termend currentperiodend trialend trialends trialendsat cancelat terminationdate duedate ' +
    'renewaldate renewsat nextpayment nextpaymentdate nextbilling nextbillingdate paiduntil paidthrough lifetime ' +
    'islifetime perpetual isperpetual neverexpires',
  licenseStatus: `status state active isactive enabled isenabled valid isvalid ${ENDING_NAMES.join(' ')}`,
  expiresAfterDays:
    'validfor validity validdays daysvalid days duration durationdays daysleft daysremaining remainingdays expiresindays ' +
    'termdays',
  ips: 'ip ipaddress ipaddresses boundip boundips allowedips serverip serverips',
  hwids:
    'hwid hardwareid hardwareids machineid machineids deviceid deviceids fingerprint fingerprints boundhwid boundhwids',
  maxIPs: 'iplimit iplimits maxip maxaddresses addresslimit maxservers serverlimit iplock iplocked',
  maxHWIDs:
    'hwidlimit maxhwid maxmachines machinelimit maxdevices devicelimit maxactivations activationlimit activationslimit ' +
    'timesactivatedmax maxinstances instancelimit maxinstallations seats seatlimit maxseats limit usagelimit maxuses ' +
    'maxusage uselimit useslimit devices slots machines installs installations allowedactivations alloweddevices ' +
    'allowedmachines maxdomains maxalloweddomains domainlimit maxsites sitelimit maxcomputers maxinstalls maxclients ' +
    'hwidlock hwidlocked',
  ownerChatId: 'discord discordid discorduserid discorduser discordaccount chat chatuserid',
  chatId: 'discord discordid discorduserid discorduser chat chatuserid',
  ownerChatUsername: 'discordname discordusername discordtag chatname',
  chatUsername: 'discordname discordusername discordtag chatname',
  ownerPlatformId: 'userid customerid buyerid memberid ownerid clientid purchaserid',
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
    'mail emailaddress customer costumer customeremail buyer buyeremail owner owneremail user useremail client ' +
    'clientemail purchaser purchaseremail purchaseemail licensee licenseeemail holder subscriber subscriberemail ' +
    'memberemail registeredto assignedto usedby',
  phoneNumber: 'phone',
  firstName: 'name customername buyername',
}).map(([field, words]) => [field, words.split(' ')] as const);

/** A name without regard to case, blanks and signs, and to the suffixes of Stripe: `Created (UTC)`. */
export const foldName = (name: string): string =>
  name
    .replace(/\((?:utc|metadata)\)$/i, '')
    .replaceAll(/[\s_.?-]+/g, '')
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

/** The number of letters to insert, delete, replace or swap with the next (Damerau and Levenshtein). */
function distance(one: string, other: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let line = 0; line < one.length; line++) {
    const next = [line + 1];
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (other[index] === one[line] ? 0 : 1);
      const isSwapped = one[line] === other[index - 1] && one[line - 1] === other[index];
      const swapped = isSwapped ? (before[index - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, above + 1, (next[index] ?? 0) + 1));
    }
    before = row;
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

const CUSTOMER = /^customer\./;

/** Fields without a say in whether and for whom a license is valid. */
const INFORMING: ReadonlySet<string> = new Set(
  (
    'id name description url imageUrl productTypeOther licensePlatformOther notes reason totalRequests createdDate ' +
    'createdAt updatedDate updatedAt firstName lastName username phoneNumber profilePictureUrl role status chatUsername ' +
    'ownerChatUsername chatAvatarUrl platformAUsername platformBUsername platformCUsername marketAUsername ' +
    'marketBUsername buyerName'
  ).split(' '),
);

/** Fields that an item has once: a further name for one, such as that of the product beside its id, repeats it. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(
  (
    'licenseKey productId licenseType productType licensePlatform licenseDataType data marketId item reference unit order ' +
    'licenseId'
  ).split(' '),
);

const isInforming = (field: string): boolean => INFORMING.has(field.replace(CUSTOMER, ''));

/**
 * Whether a name that seems to mean a field of a list needs a choice: nothing that decides is ignored (3).
 *
 * @param given the fields that other names give
 */
export const isDeciding = (field: string, given: ReadonlySet<string>): boolean =>
  !isInforming(field) && !(GIVEN_ONCE.has(field) && given.has(field));

const fieldsWith = (
  fields: readonly string[],
  isWord: (word: string, field: string) => boolean,
): string[] =>
  SYNONYMS.flatMap(([field, words]) => {
    if (![field.toLowerCase(), ...words].some((word) => isWord(word, field))) return [];
    return [field, `customer.${field}`].filter((each) => fields.includes(each));
  });

/** The field for which a name is a usual word. */
const synonymOf = (fields: readonly string[], word: string): string | undefined =>
  fieldsWith(fields, (known) => known === word)[0];

/** Usual names that nearly are words for something that decides. */
const ORDINARY = new Set(
  'purchaseid disputewon activatedat activateddate reactivatedat exportedat alloweddeactivations customerip userip buyerip clientip ownerip vatid stats'.split(
    ' ',
  ),
);

const MIN_NEAR_LENGTH = 5;
const MIN_LENGTH_FOR_TWO = 10;

/** Whether a name is a word with one wrong letter, or a long one with two. */
function isNear(name: string, word: string): boolean {
  const length = Math.min(name.length, word.length);
  if (length < MIN_NEAR_LENGTH || Math.abs(name.length - word.length) > 2) return false;
  const most = length < MIN_LENGTH_FOR_TWO || name[0] !== word[0] ? 1 : 2;
  return distance(name, word) <= most;
}

/** The field that decides and for which a name nearly is a usual word. */
function nearestSynonym(fields: readonly string[], word: string): string | undefined {
  if (word.length > MAX_LENGTH || ORDINARY.has(word)) return undefined;
  const near = fieldsWith(fields, (known, field) => !isInforming(field) && isNear(word, known));
  return near[0];
}

/** The fields that a usual word for them gives without a question. */
const READ_AS_MEANT = ['notes', 'reason', 'createdDate', 'createdAt', 'updatedDate', 'updatedAt'];

/** The field that a usual word gives, where a wrong guess changes nothing that decides: `note`, `created`. */
export function fieldOfUsualWord(fields: readonly string[], name: string): string | undefined {
  const field = synonymOf(fields, foldName(name));
  return field !== undefined && READ_AS_MEANT.includes(field) ? field : undefined;
}

/** The field that an unknown name probably means. */
export function meantField(fields: readonly string[], name: string): string | undefined {
  const word = foldName(name);
  const known = synonymOf(fields, word) ?? fieldLike(fields, `customer.${name}`);
  const like = fieldLike(fields, name) ?? known;
  if (like !== undefined) return like;
  const core = nameOfLicense(word);
  const ofLicense = synonymOf(fields, core) ?? fieldLike(fields, core);
  if (ofLicense !== undefined && !isInforming(ofLicense)) return ofLicense;
  return nearestField(fields, word) ?? nearestSynonym(fields, word) ?? nearestSynonym(fields, core);
}
