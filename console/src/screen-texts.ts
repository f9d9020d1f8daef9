import type {
  EventResource,
  EventType,
  LicenseDataType,
  LicensePlatform,
  LicenseType,
  Product,
  ProductType,
  RequestType,
} from '@licet/client';
import { MAX_BATCH_LICENSES } from '@licet/contract/limits';
import { plural, texts } from './texts.ts';

/** The algorithms of public keys. A key of the other one does not fit a language. */
const OTHER_ALGORITHM = { ES256: 'RS256', RS256: 'ES256' } as const;
export type Algorithm = keyof typeof OTHER_ALGORITHM;

/** The texts of a resource that may be null. */
type NullableText<Resource> = {
  [Name in keyof Resource]: string | null extends Resource[Name] ? Name : never;
}[keyof Resource];

const platforms: Record<LicensePlatform, string> = {
  PLATFORM_A: 'Platform A',
  PLATFORM_B: 'Platform B',
  PLATFORM_C: 'Platform C',
  MARKET_A: 'Market A',
  MARKET_B: 'Market B',
  CHAT: 'Chat',
  OTHER: 'Other',
};

const licenseTypes: Record<LicenseType, string> = {
  PERMANENT: 'Never expires',
  TEMPORARY: 'Until a date',
};

const productTypes: Record<ProductType, string> = {
  GAME_JAVA_PLUGIN: 'Java plugin',
  GAME_JAVA_MOD: 'Java mod',
  GAME_BEDROCK_PLUGIN: 'Bedrock plugin',
  GAME_BEDROCK_MOD: 'Bedrock mod',
  GAME_SERVER_SETUP: 'Server setup',
  WEB_APPLICATION: 'Web application',
  DESKTOP_APPLICATION: 'Desktop application',
  MOBILE_APPLICATION: 'Mobile application',
  OTHER: 'Other',
};

const dataTypes: Record<LicenseDataType, string> = {
  IP: 'Address',
  HWID: 'Hardware ID',
};

/** A change reaches the programs as fast as the cache lets it. */
const NOTICED = 'Programs usually notice it within 30 seconds.';

/** The types of events. */
const eventTypes: Record<EventType, string> = {
  'product.created': 'Product created',
  'product.updated': 'Product changed',
  'product.deleted': 'Product deleted',
  'license.created': 'License created',
  'license.updated': 'License changed',
  'license.slots_freed': 'Slots freed',
  'license.rotated': 'License key replaced',
  'license.transferred': 'License transferred',
  'license.deleted': 'License deleted',
  'customer.created': 'Customer created',
  'customer.updated': 'Customer changed',
  'customer.deleted': 'Customer forgotten',
  'blacklist.created': 'Blocked',
  'blacklist.updated': 'Block changed',
  'blacklist.deleted': 'Block removed',
  'token.created': 'Token created',
  'token.updated': 'Token changed',
  'token.deleted': 'Token revoked',
  'webhook.created': 'Webhook created',
  'webhook.updated': 'Webhook changed',
  'webhook.deleted': 'Webhook deleted',
  'webhook.disabled': 'Webhook switched off',
  'session.created': 'Logged in',
  'license.first_used': 'First used',
  'license.limit_reached': 'No free slot',
  'license.expiring': 'Expires soon',
  'license.expired': 'Expired',
  'license.many_addresses': 'Many addresses',
  'blacklist.hit': 'Blocked program asked',
};

/** Labels of fields whose name on the wire does not give a readable label. */
const fields: Readonly<Record<string, string>> = {
  count: 'Objects',
  data: 'Value',
  customerId: 'Customer',
  defaultMaxHWIDs: 'Default hardware ID limit',
  defaultMaxIPs: 'Default address limit',
  email: 'E-mail',
  expiryDate: 'Expires',
  hwids: 'Hardware IDs',
  intents: 'Permissions',
  ips: 'Addresses',
  isForAllProducts: 'For all products',
  licenseDataType: 'Kind',
  licenseKey: 'Key',
  licensePlatform: 'Bought on',
  licenseStatus: 'Status',
  licenseType: 'Expiry',
  expiresAfterDays: 'Days from first use',
  maxHWIDs: 'Hardware ID limit',
  maxIPs: 'Address limit',
  offlineDays: 'Days without the service',
  ipIdleDays: 'Days until an address is idle',
  hwidIdleDays: 'Days until a hardware ID is idle',
  defaultExpiresAfterDays: 'Days from first use',
  productId: 'Product',
  productType: 'Type',
};

/** The texts of all screens but the first, in a file of their own to keep the first screen small. */
export const screenTexts = {
  platforms,
  licenseTypes,
  productTypes,
  dataTypes,
  eventTypes,
  fields,

  firstSteps: {
    title: 'First steps',
    progress: (done: number, total: number) => `${done} of ${total} done`,
    doneTitle: 'Your service is ready',
    done: 'Your program sends requests, and Licet responds.',
    dismiss: 'Hide the first steps',
    isDone: 'Done',
    isOpen: 'To do',
    refused: 'Your program sent a request, and was refused.',
    toRefusals: 'See why',
    steps: {
      product: {
        title: 'Create a product',
        lead: 'A product is a program that you sell. Its id goes into the program.',
        action: 'Create a product',
      },
      license: {
        title: 'Create a license',
        lead: 'Create one for yourself, to try it out.',
        action: 'Create a license',
      },
      program: {
        title: 'Put the snippet into your program',
        lead: 'Copy it, and start your program with the key. This step is then ticked off.',
        action: 'Get the snippet',
      },
      validation: {
        title: 'The first validation arrives',
        lead: 'Start your program with a valid key.',
        action: 'Watch the history',
      },
      token: {
        title: 'Create a token for your team',
        lead: 'Each person and each program gets one of its own, with no more permissions than it needs.',
        action: 'Create a token',
      },
    },
  },

  licenses: {
    title: 'Licenses',
    new: 'New license',
    newShort: 'New',
    label: 'License',
    emptyTitle: 'No licenses yet',
    empty: 'Create the first one, or import those that you have already sold.',
    emptyProductFirst: 'Each license belongs to a product: create the product first.',
    createProduct: 'Create a product',
    import: 'Import licenses',
    count: (licenses: number) => plural(licenses, 'license'),
    ofRow: (licenses: number | undefined, name: string) =>
      `${licenses === undefined ? 'Licenses' : plural(licenses, 'license')} of ${name}`,
    csvAll: (isDeletedLeftOut: boolean) =>
      isDeletedLeftOut ? 'CSV of all but deleted' : 'CSV of all',
    csvSelected: 'CSV',
    csvReading: 'Reading licenses for the CSV file',
    csvName: 'licenses',
    selectMatching: 'Select all that match',
    selecting: 'Selecting licenses',
    columns: {
      licenseKey: 'Key',
      status: 'Status',
      product: 'Product',
      owner: 'Owner',
      expires: 'Expires',
      ips: 'Addresses',
      hwids: 'Hardware IDs',
      requests: 'Requests',
      created: 'Created',
      notes: 'Notes',
    },
    filters: {
      status: 'Status',
      anyStatus: 'All but deleted',
      type: 'Expiry',
      anyType: 'Any expiry',
      product: 'Product',
      question: 'Show',
      noQuestion: 'All licenses',
      text: 'Key, owner or notes',
      of: (name: string) => `Owner: ${name}`,
      expiring: (from: string, to: string | undefined) =>
        to === undefined ? `Expires on ${from}` : `Expires ${from} to ${to}`,
    },
    questions: {
      expiring: 'Expiring within a week',
      expired: 'Expired in the last 30 days',
      unused: 'Never used',
      dormant: 'Dormant for 90 days',
      full: 'At their limit',
    },
    never: 'Never',
    noDate: (days: number | null) => (days === null ? 'Never' : `${days} d from first use`),
    unlimited: 'no limit',
    noOwner: 'No owner',
    ownerForgotten: 'Owner forgotten',
    bulk: {
      actions: 'Change',
      extend: 'Extend',
      extendTitle: (count: number) => `Extend ${plural(count, 'license')}`,
      extendLead:
        'Days are added to the expiry date, or to the current time if that date has passed.',
      how: 'Move the expiry',
      byDays: 'By days',
      toDate: 'To a date',
      extendDays: 'Days',
      extendDaysHint: 'A negative number moves the expiry to an earlier day.',
      date: 'Date',
      noMove: 'Enter a number of days other than 0, or a date',
      move: (count: number, move: { days: number } | { until: string } | undefined) =>
        `${move && ('until' in move || move.days < 0) ? 'Move the expiry of' : 'Extend'} ${plural(count, 'license')}`,
      moveEffect: ({
        moved,
        ended,
        revived,
        endless,
      }: Record<'moved' | 'ended' | 'revived' | 'endless', number>) =>
        [
          moved === 0 ? 'Nothing changes.' : `${plural(moved, 'expiry', 'expiries')} will move.`,
          ended > 0 &&
            `${plural(ended, 'license')} will expire at once and be refused, usually within 30 seconds.`,
          revived > 0 && `${plural(revived, 'expired license')} will be valid again.`,
          endless > 0 && `${plural(endless, 'license')} without an expiry will not change.`,
        ]
          .filter(Boolean)
          .join(' '),
      assign: 'Assign to…',
      assignTitle: (count: number) => `Assign ${plural(count, 'license')} to a customer`,
      assignLead: 'The licenses then belong to this customer. Nothing changes for programs.',
      assignAction: 'Assign',
      deactivate: 'Deactivate',
      restore: 'Restore',
      delete: 'Delete',
      ask: {
        deactivate: (count: number) => `Deactivate ${plural(count, 'license')}?`,
        restore: (count: number) => `Restore ${plural(count, 'license')}?`,
        delete: (count: number) => `Delete ${plural(count, 'license')}?`,
      },
      willBeRefused: (active: number) =>
        active === 0
          ? 'Programs are already refused, so they notice nothing. This can be undone.'
          : `${plural(active, 'license')} will be refused, usually within 30 seconds. This can be undone.`,
      willBeRestored: (stopped: number) =>
        stopped === 0
          ? 'Nothing is deactivated or deleted, so nothing changes.'
          : `${plural(stopped, 'license')} will be restored, usually within 30 seconds. Expired ones stay refused.`,
      running: {
        extend: 'Extending licenses',
        move: 'Moving expiries',
        assign: 'Assigning licenses',
        deactivate: 'Deactivating licenses',
        restore: 'Restoring licenses',
        delete: 'Deleting licenses',
        undo: 'Undoing the change',
      },
      done: {
        extend: (count: number) => `${plural(count, 'license')} extended`,
        move: (count: number) => `${plural(count, 'expiry', 'expiries')} moved`,
        assign: (count: number) => `${plural(count, 'license')} assigned`,
        deactivate: (count: number) => `${plural(count, 'license')} deactivated`,
        restore: (count: number) => `${plural(count, 'license')} restored`,
        delete: (count: number) => `${plural(count, 'license')} deleted`,
        undo: (count: number) => `Change of ${plural(count, 'license')} undone`,
      },
      stopped: (left: number) =>
        `Stopped. ${plural(left, 'license is', 'licenses are')} unchanged.`,
      failures: (count: number, first: string) =>
        `${plural(count, 'license')} could not be changed. ${first}`,
      unchanged: 'Nothing had to be changed.',
    },
  },

  license: {
    title: (key: string) => `License ${key}`,
    copyKey: 'Copy the key',
    deactivate: 'Deactivate',
    reactivate: 'Reactivate',
    restore: 'Restore',
    delete: 'Delete',
    extend: 'Extend',
    facts: 'Details',
    product: 'Product',
    owner: 'Owner',
    type: 'Type',
    expires: 'Expires',
    created: 'Created',
    updated: 'Changed',
    requests: 'Requests',
    notes: 'Notes',
    platform: 'Bought on',
    chat: 'Chat',
    email: 'E-mail',
    none: 'None',
    ips: 'Addresses',
    hwids: 'Hardware IDs',
    slots: (bound: number, limit: number) =>
      limit === -1 ? `${bound} bound, no limit` : `${bound} of ${limit} bound`,
    noSlotsYet: 'Nothing is bound yet. The first valid request takes a slot.',
    noSlotsNow: 'Nothing is bound now. The next valid request takes a slot.',
    notLimited: {
      ips: 'No limit, so addresses are not bound.',
      hwids: 'No limit, so hardware IDs are not bound.',
    },
    free: 'Free',
    freeOne: (value: string) => `Free ${value}`,
    freeAll: 'Free all',
    id: 'Id',
    verdict: 'Latest request',
    neverAsked: 'No program has sent this key yet.',
    lastAsked: 'Last request',
    from: 'from',
    wasValid: 'valid',
    wasRefused: (name: string) => `refused, ${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    causeGone: 'The cause is fixed. Your customer can start the program again.',
    bound: 'Bound',
    notBound: 'Not bound',
    noSlot: 'No free slot',
    freed: (value: string) => `${value} freed. ${NOTICED}`,
    freedAll: (count: number) => `${plural(count, 'slot')} freed. ${NOTICED}`,
    blockReason: (key: string) => `Blocked from license ${key}`,
    handover: {
      rotate: 'Replace key',
      rotateTitle: 'Replace the key of this license?',
      rotateLead:
        'The license gets a new key. Within about a minute, programs with the old key are refused, until the customer enters the new one. Slots and history stay. This cannot be undone.',
      rotated: 'The license has a new key',
      transfer: 'Transfer',
      transferTitle: (lastGroup: string) => `Transfer the license …${lastGroup}`,
      transferLead:
        'The new owner gets a new key, and all slots are free. Programs of the old owner are refused within about a minute. This cannot be undone.',
      transferred: 'The license has a new owner and a new key',
    },
    lastUsed: 'Last used',
    idleNow: 'idle: a new value may take this slot',
    idleOn: 'idle on',
    statusDone: {
      DEACTIVATED: `License deactivated. ${NOTICED}`,
      DELETED: `License deleted. ${NOTICED}`,
      ACTIVE: `License active again. ${NOTICED}`,
    },
    installations: 'Installations',
    installationsEmpty: 'No program has sent this key yet.',
    installationsColumns: {
      caller: 'Address and hardware ID',
      state: 'State',
      version: 'Version',
      system: 'System',
      first: 'First seen',
      last: 'Last seen',
      requests: 'Requests',
    },
    historyAll: 'All of its history',
  },

  licenseForm: {
    newTitle: 'New licenses',
    newLead: 'One license, or many with the same terms. Each has its own key.',
    editTitle: (key: string) => `Edit ${key}`,
    product: 'Product',
    chooseProduct: 'Choose a product',
    count: 'Number of licenses',
    countHint: `1 to ${MAX_BATCH_LICENSES}`,
    expiryDate: 'Expires on',
    expiresAfterDays: 'Or days from first use',
    expiresAfterDaysHint:
      'In the place of a date: the license starts to run with its first valid request.',
    inPast: 'This license would be expired at once.',
    maxIPs: 'Address limit',
    maxHWIDs: 'Hardware ID limit',
    limitHint: 'Empty: the default of the product. -1: no limit.',
    limitHintEdit: '-1: no limit',
    customerHint:
      'Enter an e-mail, or a part of a name to choose from. A new e-mail creates a customer.',
    customerHintEdit:
      'Enter an e-mail, or a part of a name to choose from. A new e-mail creates a customer. Empty: no owner.',
    ownerChatId: 'Chat id',
    ownerChatUsername: 'Chat name',
    licensePlatform: 'Bought on',
    noPlatform: 'Not given',
    platformHint: 'The setting PLATFORM_LABELS adds the names of your shops.',
    licensePlatformOther: 'Name of the platform',
    ownerPlatformId: 'Account there',
    notes: 'Notes',
    notesHint: 'For administrators only',
    owner: 'Owner',
    limits: 'Limits',
    terms: 'Terms',
    create: (count: number) => (count > 1 ? `Create ${count} licenses` : 'Create license'),
    created: (count: number) => `${plural(count, 'license')} created`,
    createdLead: 'Copy or download the keys now, or find them later in the list.',
    csv: 'Download CSV',
    csvName: (product: string) => `keys-of-${product}`,
    copyAll: 'Copy all keys',
    more: 'Create more',
  },

  expiry: {
    usual: 'Usual days',
    never: 'Empty: it never expires.',
    endOfDay: 'The end of this day in your time zone.',
    until: (time: string) =>
      `Until ${time} in your time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`,
    presets: {
      never: 'Never',
      month: '30 days',
      year: '1 year',
      monthEnd: 'End of the month',
    },
  },

  editForm: {
    saved: 'Changes saved',
    nothingChanged: 'Nothing was changed',
    conflictTitle: 'Somebody else changed this while you edited it',
    conflictLead: 'Choose for each field which value to keep. Nothing was overwritten.',
    conflictSave: 'Save the chosen values',
    mine: 'Yours',
    theirs: 'Stored now',
    empty: 'Empty',
  },

  history: {
    title: 'History',
    lead: 'Each validation, with its outcome.',
    pause: 'Pause',
    resume: 'Resume',
    toNewest: 'To the newest',
    notLive: (reason: string) => `New requests could not be read. ${reason}`,
    waiting: (count: number) => plural(count, 'new request'),
    emptyTitle: 'No requests yet',
    empty: 'The first validation appears here as soon as your program sends it.',
    noMatch: 'No request fits these filters.',
    noneOfKey: 'No program has sent a request yet.',
    count: (requests: number) => plural(requests, 'request'),
    columns: {
      time: 'Time',
      outcome: 'Outcome',
      key: 'Key',
      product: 'Product',
      ip: 'Address',
      hwid: 'Hardware ID',
      version: 'Version',
      fix: 'Remedy',
    },
    filters: {
      licenseKey: 'Whole key',
      ip: 'Address',
      hwid: 'Hardware ID',
      outcome: 'Outcome',
      anyOutcome: 'Any outcome',
      valid: 'Valid',
      refused: 'Refused',
      product: 'Product',
      period: 'Time',
      anyTime: 'Any time',
      periods: {
        hour: 'Last hour',
        day: 'Last 24 hours',
        week: 'Last 7 days',
        month: 'Last 30 days',
      },
      given: 'Chosen time',
    },
    paneTitle: 'Request',
    unexplained: 'This version of the page does not know this outcome.',
    fixes: {
      free: 'Free a slot',
      raise: 'Allow one more',
      entry: 'Find entry',
      extend: (days: number) => `Extend by ${plural(days, 'day')}`,
      reactivate: 'Reactivate',
      restore: 'Restore',
      product: 'Open license',
      move: (product: string) => `Move the license to ${product}`,
    },
    extended: (days: number) => `License extended by ${plural(days, 'day')}. ${NOTICED}`,
    notExpired: 'The license is no longer expired.',
    alreadyActive: 'The license is active already.',
    limitRaised: {
      ips: (key: string, limit: number) =>
        `${key.slice(0, 4)}…: ${plural(limit, 'address', 'addresses')} now. ${NOTICED}`,
      hwids: (key: string, limit: number) =>
        `${key.slice(0, 4)}…: ${plural(limit, 'hardware ID')} now. ${NOTICED}`,
    },
    notBlocked: 'The blacklist has no such entry any more.',
    slotFree: 'The license has a free slot already.',
    moved: (product: string) => `License moved to ${product}. ${NOTICED}`,
    alreadyMoved: (product: string) => `The license belongs to ${product} now.`,
    rightProduct: (right: string, id: number, sent: string) =>
      `The license belongs to ${right} (id ${id}), and the program sent ${sent}. Set the right id in the program, or move the license.`,
    noProduct: 'no product',
    unknownKeys: (ip: string, count: number) =>
      `${ip} recently sent ${plural(count, 'different unknown key')}: somebody may be guessing keys.`,
    guessed: (count: number) => `Sent ${plural(count, 'unknown key')}`,
    toLicense: 'License',
    ofKey: 'All with this key',
    ofAddress: 'All from this address',
    ofHardware: 'All from this hardware',
    copy: (value: string) => `Copy ${value}`,
    fields: {
      licenseKey: 'Key',
      product: 'Product',
      ip: 'Address',
      hwid: 'Hardware ID',
      version: 'Version',
      system: 'System',
      java: 'Java',
      mac: 'MAC address',
      type: 'Interface',
      blockReason: 'Block reason',
      remarks: 'Remark',
      spam: 'Note',
      id: 'Id',
    },
    types: { V1_VALIDATE: 'Version 1', V2_VALIDATE: 'Version 2' } satisfies Record<
      RequestType,
      string
    >,
    isSpam: 'One of many requests in a short time',
  },

  products: {
    title: 'Products',
    new: 'New product',
    create: 'Create product',
    created: (name: string) => `${name} created`,
    emptyTitle: 'No products yet',
    empty:
      'A product is a program that you sell. Its id goes into the program, and licenses belong to it.',
    columns: {
      name: 'Name',
      id: 'Id',
      type: 'Type',
      licenses: 'Licenses',
      maxIPs: 'Address limit',
      maxHWIDs: 'Hardware ID limit',
      created: 'Created',
    },
    count: (products: number) => plural(products, 'product'),
    id: (id: number) => `Id ${id}`,
    copyId: (id: number) => `Copy id ${id}`,
    unlimited: 'No limit',
    name: 'Name',
    description: 'Description',
    type: 'Type',
    typeOther: 'Name of the type',
    limits: 'Limits of new licenses',
    maxIPs: 'Address limit',
    maxHWIDs: 'Hardware ID limit',
    limitHint: '-1: no limit. A license can have its own.',
    slots: 'Idle slots',
    idleDays: {
      ipIdleDays: 'Days until an address is idle',
      hwidIdleDays: 'Days until a hardware ID is idle',
    },
    idleDaysHints: {
      ipIdleDays:
        'Days without a request, after which a new address takes the slot. With few days, friends can take turns with one license.',
      hwidIdleDays:
        'Days without a request, after which a new hardware ID takes the slot. With few days, people can take turns.',
    },
    idleDaysSuggestion: (count: number) => `Never; suggested: ${count}`,
    expiry: 'Expiry of new licenses',
    expiresAfterDays: 'Days from first use',
    expiresAfterDaysHint:
      'For temporary licenses that are created without a date: they start to run with their first valid request. Empty: none.',
    leases: 'Without the network',
    offlineDays: 'Days without the service',
    offlineDaysHint:
      'For this many days, a program that verifies signed responses can start without the service. 0: never. A deactivated license can still run that long, too.',
    more: 'For your shop',
    moreFields: {
      url: 'Page of the product',
      imageUrl: 'Image',
      roleId: 'Chat role',
      purchaseRoleId: 'Chat role of buyers',
    } satisfies Record<NullableText<Product>, string>,
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteLead:
      'Its deleted licenses are deleted for good. The history stays. Programs with its id are then refused.',
    deleted: (name: string) => `${name} deleted`,
    inUse: 'This product has licenses, so it cannot be deleted. Delete its licenses first.',
    showLicenses: 'Show its licenses',
    facts: 'Details',
    changed: 'Changed',
    active: 'Active licenses',
    validations: 'Validations in 30 days',
    versions: 'Versions in use',
    noVersions: 'No program has sent its version yet.',
    versionColumns: { version: 'Version', installations: 'Installations' },
    days: (count: number) => (count === 0 ? 'Never' : plural(count, 'day')),
  },

  customers: {
    title: 'Customers',
    new: 'New customer',
    create: 'Create customer',
    created: (name: string) => `${name} created`,
    emptyTitle: 'No customers yet',
    empty:
      'A license with a new e-mail or account creates a customer. You can also create one here.',
    search: 'Name, e-mail or account',
    columns: {
      name: 'Name',
      email: 'E-mail',
      chat: 'Chat',
      accounts: 'Accounts',
      phone: 'Phone',
      licenses: 'Licenses',
      created: 'Created',
      id: 'Id',
    },
    one: 'Customer',
    severalMatch: 'fits several customers: choose one of them in the list',
    noneMatches: 'fits no customer: enter an e-mail, or choose from the list',
    count: (customers: number) => plural(customers, 'customer'),
    nameless: (id: number) => `Customer ${id}`,
    licenses: 'Licenses',
    allLicenses: 'All of them',
    noLicenses: 'This customer has no license.',
    noData: 'No personal data',
    noDataLead:
      'This customer has no name, e-mail or account. The person was forgotten, or nothing was entered.',
    newLicense: 'New license',
    person: 'Person',
    firstName: 'First name',
    lastName: 'Last name',
    email: 'E-mail',
    phoneNumber: 'Phone',
    username: 'User name',
    accounts: 'Accounts',
    chatId: 'Chat id',
    chatUsername: 'Chat name',
    accountId: (platform: string) => `${platform}: id`,
    accountName: (platform: string) => `${platform}: name`,
    forget: 'Forget this person',
    forgetTitle: (name: string) => `Forget ${name}?`,
    forgetLead:
      'This erases the names, e-mail, phone and accounts of the person, also in their licenses. In the history of these licenses, it erases the keys, addresses and hardware IDs. The licenses stay valid, with their slots, counts and notes. This cannot be undone.',
    forgetAction: 'Erase for good',
    forgetAgain: 'Erase new history',
    forgetting: 'Erasing the history',
    forgotten: (name: string) => `${name} forgotten`,
  },

  sharedHwid: {
    slot: (user: string) =>
      `Many machines share this value: an old Java wrapper sends it from each Linux server of the user ${user}.`,
    blockTitle: 'Block a hardware ID of thousands of servers?',
    block: (user: string) =>
      `An old Java wrapper sends this value from each Linux server of the user ${user}. The entry refuses them all, not one machine.`,
  },

  blacklist: {
    title: 'Blacklist',
    new: 'Block',
    newTitle: 'Block an address or a hardware ID',
    editTitle: (data: string) => `Edit the entry of ${data}`,
    lead: 'Programs from these addresses and machines are refused.',
    emptyTitle: 'Nothing is blocked',
    empty: 'Block an address, a range or a hardware ID that abuses your licenses.',
    nothingFor: (value: string) => `There is no entry with “${value}”.`,
    blockValue: (value: string) => `Block ${value}`,
    search: 'Value or reason',
    anyType: 'Any kind',
    columns: {
      data: 'Value',
      type: 'Kind',
      scope: 'For',
      reason: 'Reason',
      created: 'Added',
      remove: 'Remove',
    },
    count: (entries: number) => plural(entries, 'entry', 'entries'),
    allProducts: 'All products',
    type: 'Kind',
    data: 'Value',
    dataHint: 'An address such as 203.0.113.7, a range such as 203.0.113.0/24, or a hardware ID.',
    scope: 'For',
    reason: 'Reason',
    reasonHint: 'The history shows it to administrators. Programs never see it.',
    range: {
      title: (network: string) => `Block ${network}?`,
      bounds: (first: string, last: string, count: number | undefined) =>
        `Blocks ${first} to ${last}${count === undefined ? '' : `, ${plural(count, 'address', 'addresses')}`}.`,
      tooWide: (bits: number) =>
        `must be a range of /${bits} or narrower: a wider one would block nearly everybody`,
      hits: (licenses: number) =>
        licenses === 0
          ? 'No program with a license sent requests from there.'
          : `Programs with ${plural(licenses, 'license')} sent requests from there. They will be refused, usually within 30 seconds.`,
      manyHits:
        'More than 10,000 installations sent requests from there or near it. Those in the range will be refused, usually within 30 seconds.',
    },
    blocked: (data: string) => `${data} blocked`,
    exists: 'The blacklist has this entry already.',
    unblock: 'Unblock',
    remove: (data: string) => `Remove the entry of ${data}`,
    removed: (data: string) => `${data} is no longer blocked`,
  },

  tokens: {
    title: 'Tokens',
    lead: 'Give each person and each program a token of its own, with no more permissions than it needs.',
    new: 'New token',
    create: 'Create token',
    emptyTitle: 'No tokens yet',
    empty:
      'Only the root token works now. Create a token for yourself, and one for each person and program.',
    columns: {
      name: 'Name',
      intents: 'Permissions',
      lastUsed: 'Last used',
      expires: 'Expires',
      created: 'Created',
    },
    count: (tokens: number) => plural(tokens, 'token'),
    never: 'Never',
    expired: 'Expired',
    thisSession: 'This session',
    name: 'Name',
    nameHint: 'The name of the person or program that uses it.',
    intents: 'Permissions',
    intentsNeeded: 'choose at least one',
    expiresOn: 'Expires on',
    inPast: 'This token would be expired at once.',
    presets: {
      support: {
        name: 'Support',
        can: 'Finds licenses and customers, sees why a program was refused, frees slots, extends, deactivates and blocks.',
      },
      shop: {
        name: 'Shop',
        can: 'Finds, creates and edits licenses, many at once, and downloads them as CSV.',
      },
      reports: {
        name: 'Reports',
        can: 'Sees and exports everything but tokens, and changes nothing.',
      },
      administrator: {
        name: 'Administrator',
        can: 'May do everything: products, customers and forgetting them, tokens, import.',
      },
    },
    start: 'Usual permissions',
    licensesHint: 'With their owners: names, e-mails and accounts.',
    validations: 'Validations',
    validationsHint: 'For programs on your own servers. The programs that you sell need no token.',
    readOf: (name: string) => `Read: ${name}`,
    writeOf: (name: string) => `Change: ${name}`,
    custom: 'Permissions of your own choice.',
    all: 'Everything',
    allHint:
      'Includes the events. The permission to change includes tokens, customers and the import.',
    secretTitle: 'Copy the token now',
    secretLead:
      'The token is shown only once, because Licet stores no copy. If you lose it, revoke it and create another one.',
    secret: 'Token',
    secretDone: 'I have copied it',
    revoke: 'Revoke',
    revokeTitle: (name: string) => `Revoke ${name}?`,
    revokeLead:
      'The token is then refused: in the console at once, in validations within 90 seconds. This cannot be undone.',
    revokeOwnLead:
      'You are logged in with this token. It is then refused, and your session ends. This cannot be undone.',
    revoked: (name: string) => `${name} revoked`,
    facts: 'Details',
    changed: 'Changed',
    grid: { what: 'Objects', read: 'Read', write: 'Change', yes: 'Yes', no: 'No' },
    itsChanges: 'Changes made with this token',
    noChanges: 'Nothing was changed with this token.',
    ownChanges: 'Changes to this token',
  },

  events: {
    title: 'Events',
    lead: 'Each change, and its author. Validations are in the history.',
    emptyTitle: 'No events yet',
    empty:
      'Each change in the console, on the command line or through the API leaves an event. Create a product to see the first one.',
    columns: {
      time: 'Time',
      type: 'Event',
      resource: 'Object',
      actor: 'By',
      ip: 'Address',
      changes: 'Changes',
    },
    count: (events: number) => plural(events, 'event'),
    console: 'console',
    filters: {
      type: 'Event',
      anyType: 'Any event',
      resource: 'Object',
      anyResource: 'Any object',
      token: 'Token',
      anyToken: 'Any token',
      from: 'From',
      to: 'To',
    },
    gone: 'This event is no longer kept.',
    mine: {
      title: texts.navigation.mine,
      lead: 'Changes made with your token in the last 24 hours.',
      emptyTitle: 'No changes yet',
      empty: 'Your token has changed nothing in the last 24 hours.',
      undo: (act: string) => `Undo: ${act}`,
      moved: (count: number, days: number | undefined) =>
        days === undefined
          ? `Moved ${plural(count, 'expiry', 'expiries')}`
          : days > 0
            ? `Extended ${plural(count, 'license')} by ${plural(days, 'day')}`
            : `Shortened ${plural(count, 'license')} by ${plural(-days, 'day')}`,
      deactivated: (count: number) => `Deactivated ${plural(count, 'license')}`,
      restored: (count: number) => `Restored ${plural(count, 'license')}`,
      deleted: (count: number) => `Deleted ${plural(count, 'license')}`,
      many: (type: string, count: number) => `${type}: ${count.toLocaleString('en')} times`,
      overtaken: (overtaken: number, all: number) =>
        overtaken === all
          ? '· changed since'
          : `· ${overtaken.toLocaleString('en')} of ${all.toLocaleString('en')} have changed since`,
      notUndoable: '· cannot be undone',
    },
    restore: {
      action: 'Restore',
      hint: 'Puts back the values from before this change.',
      overtaken: 'Restore over newer values?',
      now: (field: string, value: string) => `${field}, stored now: ${value}.`,
      anyway: 'Somebody changed this after the event. Restore replaces the newer values, too.',
      kept: (field: string) =>
        `${field} have changed since. Restore keeps those that were bound since.`,
      done: (values: string) => `Restored. ${values}`,
      running: 'Undoing the change',
      failed: (count: number, first: string) =>
        `${plural(count, 'change')} could not be undone. ${first}`,
      undone: (done: number, overtaken: number, left: number) =>
        [
          `${plural(done, 'change')} undone.`,
          overtaken > 0 &&
            `${overtaken.toLocaleString('en')} not undone, because of newer changes to the same fields.`,
          left > 0 && `Stopped: ${left.toLocaleString('en')} not undone yet.`,
        ]
          .filter(Boolean)
          .join(' '),
    },
    oneObject: (resource: string, id: number) => `${resource} ${id}`,
    objects: (resource: EventResource, count: number) =>
      ({
        product: plural(count, 'product'),
        license: plural(count, 'license'),
        customer: plural(count, 'customer'),
        blacklist: plural(count, 'blacklist entry', 'blacklist entries'),
        token: plural(count, 'token'),
        webhook: plural(count, 'webhook'),
        session: plural(count, 'session'),
      })[resource],
    token: (id: number) => `Token ${id}`,
    deletedToken: (id: number | null) => `Token ${id}, deleted`,
    changes: 'Changes',
    field: 'Field',
    before: 'Before',
    after: 'After',
    noChanges: 'This event has no changed fields.',
    none: 'None',
    withheld: 'Changed; its values are not kept',
    yes: 'Yes',
    no: 'No',
    moreChanges: (count: number) => `and ${count} more`,
    all: 'All events of this object',
    allOfObject: 'All of them',
    noneOfObject: 'No changes on record.',
  },

  program: {
    title: 'In your program',
    lead: 'One small file asks this service whether a license key is valid.',
    product: 'Product',
    noProductTitle: 'Create a product first',
    noProduct: 'Its id goes into your program.',
    createProduct: 'Create a product',
    language: 'Language',
    forWhat: {
      'Licet.java': 'Java 8 and newer: plugins and mods of game servers',
      'Licet17.java': 'Java 17 and newer, Kotlin',
      'licet.ts': 'TypeScript: Node 20 and newer',
      'licet.mjs': 'JavaScript: Node 18 and newer',
      'licet.py': 'Python 3.8 and newer',
      'licet.php': 'PHP 8.0 and newer, with curl and openssl',
      'Licet.cs': 'C#: .NET, Mono, Unity',
      'licet.lua': 'Lua 5.3 and newer',
      'licet.go': 'Go 1.18 and newer',
      'licet.sh': 'A shell with curl',
    },
    filled: (id: number) =>
      `The address of this service and the product id ${id} are filled in. The key comes from your customer’s configuration.`,
    linesTitle: 'Write these lines',
    copyLines: 'Copy the lines',
    linesOf: (file: string) => `Lines that call ${file}`,
    save: (file: string) => {
      const ending = file.split('.').at(-1);
      const edits = {
        java: ' Add the package line of your class at its top.',
        cs: ' Delete the class Demo at its end.',
        go: ' Delete the function main at its end.',
      };
      const edit = Object.entries(edits).find(([each]) => each === ending)?.[1] ?? '';
      return `Save this file in the folder of your program.${edit} The lines above call it.`;
    },
    showFile: (lines: number) => `Show its ${lines} lines`,
    copy: 'Copy the file',
    download: 'Download',
    code: (file: string) => `Content of ${file}`,
    tryTitle: 'Try it',
    tryLead: (needs: string | undefined) =>
      `Run this in the folder of the file, with one of your license keys${needs ? `. ${needs} is required` : ''}:`,
    tryResult: 'It prints License is valid.',
    tryKey: 'YOUR-LICENSE-KEY',
    tryCopy: 'Copy the command',
    newLicense: 'Create a license to try it',
    waiting: 'Waiting for your program’s first validation',
    waitingLead: 'This line turns green as soon as your program has sent its request.',
    arrived: 'Your program’s validation arrived',
    refused: 'Your program’s request was refused',
    version: (version: string) => `version ${version}`,
    showHistory: 'Show it in the history',
    mayNotWatch:
      'This token may not read the history, so this page cannot show the requests of your program.',
    signed: 'Only signed responses',
    unsignedLead: 'Without signed responses, the program trusts any server at this address.',
    signedLead:
      'The public keys are filled in, and the program trusts only this service. Back up the private keys first: if they are lost, these programs refuse to run.',
    noKeys:
      'This service has no signing key that this language can verify. The guide to signed responses shows how to create one.',
    signedMore: 'Signed responses',
    noLease: 'Without the network the program will not start.',
    setLease: 'Set the days without the service',
    spareKey: 'Your spare public key',
    spareKeyHint: (alg: string) =>
      `Optional: replaces the first key if that is lost. npm run -s licet -- keys create ${alg} spare-key.json creates one and prints its public key.`,
    spareFaults: {
      private: () =>
        'This is the private half. Never paste it anywhere. The command that creates the key prints its public half.',
      several: () => 'Paste one key. That of this service is in the lines already.',
      otherKind: (alg: Algorithm) =>
        `This is an ${OTHER_ALGORITHM[alg]} key. This language needs the ${alg} one.`,
      form: (alg: Algorithm) =>
        `This is no public key for this language: it has the form KID:KEY, with a KEY of ${alg === 'RS256' ? 342 : 87} characters.`,
      first: () => 'This is the first key already.',
    },
    twoKeys: 'Two keys are in the lines.',
  },

  transfer: {
    title: 'Import and export',
    lead: 'Import what you have sold elsewhere, and export all of your data.',
    kinds: {
      products: 'Products',
      customers: 'Customers',
      licenses: 'Licenses',
      blacklists: 'Blacklist',
    },
    importTitle: 'Import',
    drop: 'Drop a file here, or choose one',
    dropHint:
      '.jsonl of npm run export, .json, or .csv with the names of the fields in the first row',
    importLead:
      'The file is checked first, which changes nothing. Existing items stay as they are, so you can repeat an import. Import products before licenses: a license without its product is rejected.',
    commandLine:
      'The command line (npm run import) also imports from another service, from incomplete files, and from JSON files of any size.',
    kind: 'Kind of the items in a .csv file or a JSON list',
    check: 'Check the file',
    checking: (name: string) => `Checking ${name}`,
    reading: (name: string) => `Reading ${name}`,
    importing: (name: string) => `Importing ${name}`,
    import: (count: number) => `Import ${plural(count, 'item')}`,
    nothingToImport: 'Each item exists already or was rejected.',
    other: 'Choose another file',
    unreadable: (name: string, reason: string) => `${name}: ${reason}. Nothing was imported.`,
    checkedTitle: 'Checked: nothing was changed yet',
    doneTitle: 'Imported',
    stoppedTitle: 'Stopped',
    stoppedCheck: 'The rest of the file was not checked.',
    stoppedImport: 'Items imported so far stay. Import the file again to get the rest.',
    failed: 'Items imported so far stay. Import the file again to get the rest.',
    outcome: 'Kind',
    outcomes: {
      created: 'New',
      unchanged: 'Already stored',
      kept: 'Stored with other values',
      refused: 'Rejected',
    },
    owners: (count: number) => `${plural(count, 'customer')} created as owners of licenses.`,
    ignored: (names: string) => `These fields are unknown or secret, and were left out: ${names}.`,
    findings: 'Items that were rejected, or stored with other values',
    findingsShown: (shown: number, all: number) =>
      `The first ${shown} of ${all.toLocaleString('en')}; all are in the report.`,
    columns: {
      kind: 'Kind',
      where: 'Where',
      key: 'Key or id',
      outcome: 'Outcome',
      reason: 'Reason',
    },
    report: 'Download the report',
    reportName: 'import-report',
    exportTitle: 'Export',
    exportLead:
      'JSON is exact, and can be imported again. CSV is for spreadsheets: an apostrophe guards cells that look like formulas. Both files contain personal data and license keys.',
    csv: 'CSV',
    json: 'JSON',
    csvOf: (kind: string) => `CSV of ${kind}`,
    jsonOf: (kind: string) => `JSON of ${kind}`,
    exporting: (kind: string) => `Exporting ${kind}`,
    exported: (count: number) => `${plural(count, 'item')} exported`,
  },
} as const;
