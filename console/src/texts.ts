import type { ApiIntent, EventResource, LicenseStatus } from '@licet/client';
import { INTENT_NAMES } from '@licet/contract/intents';
import { OUTCOMES } from '@licet/contract/outcomes';
import type { Kind } from '@licet/contract/recognize';

/** The texts of the layout, of the first screen, and those that many screens share; the others are in `screen-texts.ts`. */

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

const statuses: Record<LicenseStatus, string> = {
  ACTIVE: 'Active',
  EXPIRED: 'Expired',
  DEACTIVATED: 'Deactivated',
  DELETED: 'Deleted',
};

/** The outcomes of a validation. A newer service may have one that this page does not know. */
const outcomes: Readonly<Record<string, { name: string; explanation: string }>> = OUTCOMES;

/** The kinds of objects in events. */
const resources: Record<EventResource, string> = {
  product: 'Product',
  license: 'License',
  customer: 'Customer',
  blacklist: 'Blacklist entry',
  token: 'Token',
  webhook: 'Webhook',
  market: 'Market',
  purchase: 'Purchase',
  session: 'Session',
  settings: 'Settings',
  mail: 'Mail',
};

export const texts = {
  product: 'Licet',
  statuses,
  outcomes,
  intents: INTENT_NAMES,
  resources,

  undoLater: { lasts: 'Undo lasts 24 hours:', changes: 'your latest changes' },

  actions: {
    cancel: 'Cancel',
    clear: 'Clear',
    close: 'Close',
    copy: 'Copy',
    copied: 'Copied',
    delete: 'Delete',
    edit: 'Edit',
    more: 'More',
    retry: 'Try again',
    save: 'Save',
    stop: 'Stop',
    undo: 'Undo',
  },

  ownAddress:
    'Only the machine of the service and its network can open this address. Set PUBLIC_URL to the public one.',
  ownAddressGuide: 'How to set it',

  navigation: {
    label: 'Main',
    overview: 'Overview',
    licenses: 'Licenses',
    history: 'History',
    products: 'Products',
    customers: 'Customers',
    blacklist: 'Blacklist',
    tokens: 'Tokens',
    webhooks: 'Webhooks',
    markets: 'Markets',
    purchases: 'Purchases',
    events: 'Events',
    mine: 'Your latest changes',
    import: 'Import and export',
    program: 'In your program',
    settings: 'Settings',
    more: 'More',
    skip: 'Skip to the content',
  },

  session: {
    title: 'Log in',
    lead: 'Paste a token of this service. The session lasts up to 12 hours. The token is not stored.',
    token: 'Token',
    tokenNeeded: 'Paste a token first.',
    submit: 'Log in',
    wrong: 'This token is not valid. Copy the whole token, and check that it has not been revoked.',
    codeUsed: 'This link was already used, or is older than five minutes. Log in with a token.',
    wrongHost:
      'You cannot log in at this address, because other servers could receive the session. Open the link that npm run licet -- console prints. Behind a proxy, set PUBLIC_URL to the public address.',
    insecure:
      'This page was opened over http, but browsers keep a session over https only. Open the https address of the service. On the machine of the service, the link that npm run licet -- console prints works too.',
    whereTitle: 'Where is my token?',
    where:
      'On your own machine it is ROOT_TOKEN in the file .dev.vars. In a team, ask an administrator for a token of your own.',
    logOut: 'Log out',
    menu: (name: string) => `Session of ${name}`,
    root: 'Root token',
    until: 'Token expires',
    may: 'Permissions',
    endsAt: 'Your session ends at',
    orIdle: 'or after an hour without use.',
    theme: 'Theme',
    themes: { system: 'System', light: 'Light', dark: 'Dark' },
    guides: 'Guides',
    interface: 'API reference',
    version: (version: string) => `Licet ${version}`,
  },

  errors: {
    title: 'This could not be loaded',
    screenTitle: 'This screen has failed',
    unexpected: 'The page failed. Reload it; if it fails again, report it.',
    partMissing:
      'A part of the page could not be loaded: Licet was updated, or the network was interrupted.',
    reload: 'Reload',
    noResponse: 'The service did not respond. Check your connection, then try again.',
    sessionEnded: 'The session has ended. Log in again.',
    /** The first accepted intent allows the least. */
    forbidden: ([least]: readonly ApiIntent[]) =>
      least === undefined
        ? 'This token may not do that.'
        : `This token may not do that. It needs the permission “${INTENT_NAMES[least]}”.`,
    changedMeanwhile: 'Somebody changed it in the meantime. Reload it, then try again.',
    tooMany: (seconds: number | undefined) =>
      `Too many requests. Try again ${seconds === undefined ? 'later' : `in ${plural(seconds, 'second')}`}.`,
    failed: 'The service failed. Try again. If it fails again, look into its log.',
    faults: {
      missing: 'Fill this in.',
      choice: 'Choose one.',
      number: 'Must be a number.',
      date: 'Must be a complete date.',
      whole: 'Must be a whole number.',
      atLeast: (min: string) => `Must be at least ${min}.`,
      atMost: (max: string) => `Must be at most ${max}.`,
    },
    field: (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`,
    notFoundTitle: 'There is nothing here',
    notFound: 'The address is wrong, or what was here has been deleted.',
    notFoundHome: 'To the overview',
    noClipboard:
      'The browser gave no access to the clipboard. Select the text and copy it by hand.',
  },

  table: {
    anyProduct: 'Any product',
    columns: 'Columns',
    selectRow: (name: string) => `Select ${name}`,
    selectAll: 'Select all on this page',
    all: 'All',
    selected: (count: number) => `${count.toLocaleString('en')} selected`,
    next: 'Next',
    previous: 'Previous',
    pages: 'Pages',
    range: (first: number, last: number) =>
      [...new Set([first, last])].map((row) => row.toLocaleString('en')).join('–'),
    of: (shown: string, total: string) => `${shown} of ${total}`,
    sort: 'Order',
    sortBy: (name: string) => `Sort by ${name}`,
    latestFirst: (name: string) => `${name}, latest first`,
    earliestFirst: (name: string) => `${name}, earliest first`,
    filters: 'Filters',
    filter: (count: number) => (count > 0 ? `Filter (${count})` : 'Filter'),
    noMatch: 'Nothing matches',
    noMatchLead: 'No entry fits these filters.',
    clearFilters: 'Clear the filters',
  },

  shortcuts: {
    title: 'Keyboard',
    rows: [
      ['/ or Ctrl K', 'Search, or paste what you have'],
      ['j  k', 'Next and previous row'],
      ['Enter', 'Open the row'],
      ['x', 'Select the row'],
      ['e', 'Edit'],
      ['?', 'This list'],
    ] as const,
  },

  palette: {
    open: 'Search or paste anything',
    label: 'Search',
    placeholder: 'Key, address, e-mail, order',
    hint: 'Paste a license key, an address, a hardware ID, an e-mail or an account. Text needs at least three characters.',
    nothing: 'Nothing found. Check the spelling, or paste the whole key.',
    searching: 'Searching',
    screens: 'Screens',
    licenses: 'Licenses',
    customers: 'Customers',
    products: 'Products',
    purchases: 'Purchases',
    markets: 'Markets',
    actions: 'Actions',
    historyOf: (value: string) => `History of ${value}`,
    blacklistEntry: (value: string) => `Block ${value}, or find its entry`,
    kinds: {
      key: 'License key',
      address: 'Address',
      email: 'E-mail',
      account: 'Account',
      number: 'Number',
      hardware: 'Hardware ID or key',
      text: 'Text',
    } satisfies Record<Kind, string>,
  },

  overview: {
    title: 'Overview',
    figures: 'Today',
    active: 'Active licenses',
    validations: 'Validations today',
    refused: 'Refused today',
    noTrend: 'No count from yesterday',
    trend: (change: number) =>
      change === 0
        ? 'Same as yesterday'
        : `${Math.abs(change).toLocaleString('en')} ${change > 0 ? 'more' : 'fewer'} than yesterday`,
    topReason: (name: string) => `Mostly: ${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    trendTitle: 'Compared with yesterday at the same time',
    noHistoryTitle: 'Figures need the history',
    noHistory:
      'This token may not read the history, so this screen has no figures. The menu has the screens that this token may open.',
    gap: (count: number) =>
      `${plural(count, 'validation')} ${count === 1 ? 'is' : 'are'} missing in the history, the latest in the hour from`,
    gapReason:
      'Programs got their responses, but the database did not store the records. The log has the details.',
    outcomes: 'Validations by outcome',
    range: 'Time shown',
    ranges: { day: '24 h', week: '7 d', month: '30 d' },
    inRange: { day: 'in 24 hours', week: 'in 7 days', month: 'in 30 days' },
    time: 'Time',
    groups: {
      valid: 'Valid',
      ended: 'Expired or deactivated',
      full: 'No free slot',
      rejected: 'Unknown, blocked or failed',
    },
    products: 'Licenses by product',
    validationsIn: {
      day: 'most active first, 24 h',
      week: 'most active first, 7 d',
      month: 'most active first, 30 d',
    },
    product: 'Product',
    activeShort: 'Active',
    validationsShort: 'Validations',
    noProducts: 'No licenses are counted yet. The count is up to a minute old.',
    noValidations: 'No validation yet',
    noValidationsLead: {
      day: 'No program has sent a request in the last 24 hours.',
      week: 'No program has sent a request in the last 7 days.',
      month: 'No program has sent a request in the last 30 days.',
    },
    versions: 'Versions in use',
    mostUsed: 'most used first',
    version: 'Version',
    moreVersions: (count: number) => `and ${plural(count, 'more', 'more')}`,
    noVersion: 'no version',
    installations: 'Installations',
    noVersions: 'No program has sent its version yet.',
    expiries: 'Expiries ahead',
    inWeeks: (weeks: number) => `in ${plural(weeks, 'week')}`,
    now: 'Today',
    noExpiries: 'No license expires in this period.',
    expiring: (count: string) => `${count} in total`,
    refusals: 'Latest refusals',
    allRefusals: 'All refusals',
    noRefusals: 'Nothing was refused.',
    noKey: 'Without a key',
    erased: 'Erased',
    events: 'Latest events',
    allEvents: 'All events',
    noEvents: 'No changes on record.',
  },

  loading: 'Loading',
  editTitle: (name: string) => `Edit ${name}`,
  done: (count: number, total: number) =>
    `${count.toLocaleString('en')} of ${total.toLocaleString('en')}`,
  counted: (count: number) => count.toLocaleString('en'),
  unknownProduct: (id: number) => `Product ${id}`,
} as const;
