import type { TableKind } from './kinds.ts';
import { foldName } from './suggestion.ts';
import { truthOf } from './words.ts';

/** The usual files of other services, which are read without a question. */

interface PresetItem {
  get: (field: string) => unknown;
  set: (field: string, value: unknown) => void;
}

export interface Preset {
  /** For people. */
  title: string;
  kind: TableKind;
  /** Whether the names of a file are those of the service. */
  isOf: (names: readonly string[], folded: ReadonlySet<string>) => boolean;
  /** The field of each folded name. Those without a field are left out. */
  fields: Readonly<Record<string, string>>;
  /** Folded names that decide nothing. */
  leftOut: string;
  /** Whether names are left out that resemble no field. */
  leavesOthersOut?: boolean;
  /** The name of the platform to which the ids of owners belong. */
  platform?: string;
  /** The value of an empty cell, such as -1 for a limit. */
  blanks?: Readonly<Record<string, number>>;
  /** Statuses that mean something else there than usual, in lower case. */
  statuses?: Readonly<Record<string, string>>;
  /** Fields that follow from several. */
  complete?: (item: PresetItem, readName: (foldedName: string) => unknown) => void;
}

/** The value of a name in a table. A file can have the name `constructor`, which each table inherits. */
export const valueIn = (
  table: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined => (table && Object.hasOwn(table, name) ? table[name] : undefined);

const UNLIMITED = -1;

export const PRESETS: readonly Preset[] = [
  {
    title: 'License Manager for WooCommerce',
    kind: 'licenses',
    isOf: (_, folded) =>
      folded.has('licensekey') &&
      (folded.has('timesactivatedmax') || (folded.has('validfor') && folded.has('orderid'))),
    fields: {
      productid: 'productId',
      licensekey: 'licenseKey',
      expiresat: 'expiryDate',
      validfor: 'expiresAfterDays',
      status: 'licenseStatus',
      timesactivatedmax: 'maxHWIDs',
      userid: 'ownerPlatformId',
      createdat: 'createdDate',
      updatedat: 'updatedDate',
    },
    leftOut: 'id orderid timesactivated createdby updatedby source hash',
    platform: 'WooCommerce',
    blanks: { maxHWIDs: UNLIMITED },
    statuses: { 1: 'ACTIVE', 2: 'ACTIVE', 3: 'ACTIVE', 4: 'DEACTIVATED' },
    complete(item) {
      // The days count until the sale, which sets the date.
      if (item.get('expiryDate')) item.set('expiresAfterDays', null);
    },
  },
  {
    title: 'LicenseGate',
    kind: 'licenses',
    isOf: (_, folded) =>
      folded.has('licensekey') &&
      ['validationpoints', 'validationlimit', 'licensescope', 'ipboundenabled'].some((name) =>
        folded.has(name),
      ),
    fields: {
      active: 'licenseStatus',
      licensekey: 'licenseKey',
      name: 'notes',
      notes: 'notes',
      iplimit: 'maxIPs',
      licensescope: 'productId',
      expirationdate: 'expiryDate',
      ip: 'ips',
      createdat: 'createdDate',
    },
    leftOut:
      'id userid validationpoints validationlimit replenishamount replenishinterval ipboundenabled',
    blanks: { maxIPs: UNLIMITED },
    complete(item, readName) {
      if (truthOf(readName('ipboundenabled'))) item.set('maxIPs', 1);
    },
  },
  {
    title: 'Keygen',
    kind: 'licenses',
    isOf: (_, folded) => folded.has('key') && folded.has('expiry') && folded.has('maxmachines'),
    fields: {
      key: 'licenseKey',
      name: 'notes',
      expiry: 'expiryDate',
      status: 'licenseStatus',
      suspended: 'licenseStatus',
      maxmachines: 'maxHWIDs',
      user: 'ownerPlatformId',
      owner: 'ownerPlatformId',
      created: 'createdDate',
      updated: 'updatedDate',
    },
    leftOut:
      'id uses scheme encrypted strict floating concurrent protected version maxprocesses maxusers maxcores maxmemory ' +
      'maxdisk maxuses requireheartbeat requirecheckin lastvalidated lastcheckin lastcheckout nextcheckin metadata ' +
      'permissions product policy account group',
    platform: 'Keygen',
    blanks: { maxHWIDs: UNLIMITED },
    // There a license is inactive that no program has used for 90 days.
    statuses: { inactive: 'ACTIVE', expiring: 'ACTIVE' },
  },
  ...(['licenses', 'customers'] as const).map((kind): Preset => {
    const of = kind === 'licenses' ? 'customer.' : '';
    return {
      title: 'Stripe',
      kind,
      isOf: (names, folded) =>
        names.some((name) => /\(UTC\)$/.test(name)) &&
        (folded.has('customerid') || folded.has('customeremail') || folded.has('delinquent')),
      fields: {
        customeremail: `${of}email`,
        email: `${of}email`,
        ...(kind === 'licenses' && {
          customername: 'customer.firstName',
          status: 'licenseStatus',
          currentperiodend: 'expiryDate',
          created: 'createdDate',
          createddate: 'createdDate',
        }),
        ...(kind === 'customers' && {
          name: 'firstName',
          created: 'createdAt',
          phone: 'phoneNumber',
        }),
      },
      leftOut:
        'id customerid plan product canceledat endedat trialstart trialend start startdate currentperiodstart refundeddate',
      leavesOthersOut: true,
    };
  }),
  {
    title: 'licet purchases list',
    kind: 'purchases',
    isOf: (_, folded) => ['marketid', 'reference', 'unit'].every((name) => folded.has(name)),
    fields: {},
    leftOut:
      'id email amount currency quantity istest state reason isignored marketname customerid productid productname createdat updatedat revokedat',
  },
  {
    title: 'Stripe',
    kind: 'purchases',
    isOf: (names, folded) => names.some((name) => /\(UTC\)$/.test(name)) && folded.has('id'),
    fields: {
      id: 'reference',
      paymentintentid: 'order',
      licetproduct: 'item',
      customerid: 'buyerId',
      customername: 'buyerName',
      status: 'state',
    },
    leftOut: 'customeremail customerdescription product productid status description',
    leavesOthersOut: true,
    complete(item) {
      item.set('order', item.get('order') ?? item.get('reference'));
    },
  },
];

/** The preset whose file has these names. */
export function presetOf(kind: TableKind, names: readonly string[]): Preset | undefined {
  const folded = new Set(names.map(foldName));
  return PRESETS.find((preset) => preset.kind === kind && preset.isOf(names, folded));
}
