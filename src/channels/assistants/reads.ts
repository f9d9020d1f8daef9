import type { LicenseRequest } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import { objectOf } from '@licet/contract/objects';
import { type Fix, RESPONSE_TYPES } from '@licet/contract/outcomes';
import { keyOf } from '@licet/contract/recognize';
import { countUnknownKeys, explainRefusal, type RefusedLicense } from '@licet/contract/refusals';
import * as z from 'zod';
import { find, licensesOfKey, soughtText } from './find.ts';
import { searchGuides } from './guides.ts';
import {
  endOfKey,
  shownAlert,
  shownEvent,
  shownLicense,
  shownPurchase,
  shownSlot,
  valuesOf,
} from './shapes.ts';
import { type Fields, invalid, may, type ReadTool, readTool } from './tool.ts';

/** The tools that read (12). */

const REFUSALS = 100;
const VALUES = 5;
const EVENTS = 10;
const ALERTS = 20;
const PURCHASES = 10;
const MOST_LISTED = 50;
const DEFAULT_LISTED = 20;
const SECTIONS = 5;

const id = (description: string) => z.int().min(1).describe(description);
const licenseId = id('The id of the license, as find and list_licenses return it.');

/** The tool that makes each fix; null for those that a person makes in the console. */
const TOOLS: Readonly<Record<Fix, string | null>> = {
  extend: 'extend',
  reactivate: 'set_status',
  restore: 'set_status',
  freeSlot: 'free_slots',
  raiseLimit: null,
  moveProduct: null,
  unblock: null,
  block: 'block',
};

/** The records of one outcome, with the reason and its fixes. */
function explainGroup(
  records: readonly [LicenseRequest, ...LicenseRequest[]],
  license: RefusedLicense | undefined,
  unknownKeys: ReadonlyMap<string, number>,
): Fields {
  const explain = (record: LicenseRequest) =>
    explainRefusal(record, {
      ...(license && { license }),
      unknownKeys: unknownKeys.get(record.ip ?? '') ?? 0,
    });
  // One machine may have got a slot since, and another one not.
  const refused = records.find((record) => explain(record).isStillRefused) ?? records[0];
  const { name, explanation, isStillRefused, fixes } = explain(refused);
  return {
    outcome: refused.responseType,
    reason: name,
    explanation,
    requests: records.length,
    first: records.at(-1)?.requestDate,
    last: records[0].requestDate,
    isStillRefused,
    addresses: valuesOf(records, 'ip', VALUES),
    hardwareIds: valuesOf(records, 'hwid', VALUES),
    versions: valuesOf(records, 'productVersion', VALUES),
    sentProductIds: [...new Set(records.map(({ productId }) => productId))].slice(0, VALUES),
    remarks: valuesOf(records, 'remarks', VALUES),
    blockReasons: valuesOf(records, 'blockReason', VALUES),
    fixes: fixes.map((fix) => ({ fix, tool: TOOLS[fix] })),
  };
}

/** The records by outcome, that of the newest record first. */
function groupsOf(records: readonly LicenseRequest[]) {
  const groups = new Map<string, [LicenseRequest, ...LicenseRequest[]]>();
  for (const record of records) {
    const group = groups.get(record.responseType);
    if (group) group.push(record);
    else groups.set(record.responseType, [record]);
  }
  return [...groups.values()];
}

const explainRefusals = readTool(
  z.strictObject({
    licenseId: licenseId.optional(),
    licenseKey: soughtText
      .optional()
      .describe('Instead of licenseId: its key, in any spelling, or an old one.'),
  }),
  {
    name: 'explain_refusals',
    title: 'Explain refusals',
    description:
      'Explains why the programs of a license were refused: the reasons of its latest refusals, with the fixes of each, the best first, and the tool of each fix. A person makes a fix without a tool in the console. Returns the etag and the slots for the tools.',
    needs: [INTENTS.readLicenses, INTENTS.readRequests],
  },
  async (input, caller) => {
    const { licet } = caller;
    const { licenseKey } = input;
    if ((input.licenseId === undefined) === (licenseKey === undefined)) {
      throw invalid('licenseId', 'or licenseKey is required, and not both');
    }
    const sentKey = licenseKey && (keyOf(licenseKey) ?? licenseKey);
    const [known, ...others] = sentKey ? await licensesOfKey(sentKey, caller) : [];
    if (others.length > 0) {
      throw invalid('licenseKey', 'is in several licenses: call find, and use licenseId');
    }
    const readId = input.licenseId ?? known?.id;
    const read = readId === undefined ? undefined : await licet.licenses.read(readId);
    const key = read?.item.licenseKey ?? sentKey ?? '';
    const refusalsOf = (one: string) =>
      licet.requests.list({ licenseKey: one, valid: false, limit: REFUSALS });
    const refusals = await refusalsOf(key);
    const ofOldKey = sentKey && sentKey !== key ? await refusalsOf(sentKey) : [];
    const [lastValid] = await licet.requests.list({ licenseKey: key, valid: true, limit: 1 });
    const guesser = [...refusals, ...ofOldKey].find(
      ({ responseType, ip }) => responseType === 'LICENSE_NOT_FOUND' && ip !== null,
    );
    const guesses =
      guesser && guesser.ip !== null
        ? await licet.requests.list({ ip: guesser.ip, valid: false, limit: REFUSALS })
        : [];
    const unknownKeys = countUnknownKeys(guesses);
    const license = read?.item;
    const slots = license ? await licet.licenses.slots(license.id) : [];
    return {
      license: license ? shownLicense(license) : null,
      etag: read?.etag ?? null,
      licenseKey: endOfKey(key),
      lastValid: lastValid?.requestDate ?? null,
      reasons: groupsOf(refusals).map((group) => explainGroup(group, license, unknownKeys)),
      reasonsOfOldKey: groupsOf(ofOldKey).map((group) =>
        explainGroup(group, undefined, unknownKeys),
      ),
      slots: slots.map(shownSlot),
    };
  },
);

const showLicense = readTool(
  z.strictObject({ licenseId }),
  {
    name: 'show_license',
    title: 'Show a license',
    description:
      'Shows a license: its state, owner, slots with their last use, purchases and last changes. Returns its etag for the tools that change it.',
    needs: [INTENTS.readLicenses],
  },
  async ({ licenseId }, caller) => {
    const { licet } = caller;
    const { item, etag } = await licet.licenses.read(licenseId);
    const [slots, purchases, events] = await Promise.all([
      licet.licenses.slots(licenseId),
      licet.purchases.list({ licenseId, limit: PURCHASES }),
      may(caller, INTENTS.readEvents)
        ? licet.events.list({ resourceType: 'license', resourceId: licenseId, limit: EVENTS })
        : null,
    ]);
    const { metadata, effectiveEntitlements, licensePlatform, ownerPlatformId } = item;
    return {
      etag,
      license: {
        ...shownLicense(item),
        metadata,
        entitlements: effectiveEntitlements,
        licensePlatform,
        ownerPlatformId,
      },
      slots: slots.map(shownSlot),
      purchases: purchases.map(shownPurchase),
      /** Null for a token that may not read events. */
      events: events?.map(shownEvent) ?? null,
    };
  },
);

const LISTS = ['all', 'expiring', 'expired', 'dormant', 'full', 'never_used'] as const;
const DEFAULT_DAYS = { expiring: 14, dormant: 90 } as const;

const listLicenses = readTool(
  z.strictObject({
    list: z
      .enum(LISTS)
      .default('all')
      .describe(
        'expiring: expires within `days` (14). expired: has expired. dormant: was validated before, but not within `days` (90). full: has no free slot. never_used: was never validated.',
      ),
    days: z
      .int()
      .min(1)
      .max(3650)
      .optional()
      .describe('The period of expiring and dormant; other lists ignore it.'),
    productId: id('Only licenses for this product.').optional(),
    customerId: id('Only licenses of this customer.').optional(),
    limit: z
      .int()
      .min(1)
      .max(MOST_LISTED)
      .default(DEFAULT_LISTED)
      .describe('The most licenses to return.'),
    after: z
      .int()
      .min(0)
      .optional()
      .describe('The `after` of the result before, for the licenses that follow.'),
  }),
  {
    name: 'list_licenses',
    title: 'List licenses',
    description:
      'Lists licenses: all, or the expiring, expired, dormant, full or never used ones, also of one product or customer.',
    needs: [INTENTS.readLicenses],
  },
  async ({ list, days, customerId, ...page }, { licet }) => {
    const now = Date.now();
    const at = (ms: number) => new Date(ms).toISOString();
    const filters = {
      all: {},
      expiring: {
        licenseStatus: 'ACTIVE',
        expiresFrom: at(now),
        expiresTo: at(now + (days ?? DEFAULT_DAYS.expiring) * DAY_MS),
      },
      expired: { licenseStatus: 'EXPIRED' },
      dormant: { dormantDays: days ?? DEFAULT_DAYS.dormant },
      full: { full: true },
      never_used: { unused: true },
    } as const;
    const licenses =
      customerId === undefined ? licet.licenses : licet.licenses.byCustomerId(customerId);
    const { items, after } = await licenses.page({ ...page, ...filters[list], total: false });
    return { licenses: items.map(shownLicense), after: after ?? null };
  },
);

const statistics = readTool(
  z.strictObject({
    days: z.int().min(1).max(30).default(1).describe('The days to count, up to now.'),
    productId: id('Only this product.').optional(),
  }),
  {
    name: 'statistics',
    title: 'Statistics',
    description:
      'Counts validations by outcome, active licenses and validations by product, licenses by status, installations by version, and expiries of the next days. Lists the latest alerts.',
    needs: [INTENTS.readRequests],
  },
  async ({ days, productId }, caller) => {
    const from = new Date(Date.now() - days * DAY_MS).toISOString();
    const [found, alerts] = await Promise.all([
      caller.licet.statistics({ from, step: days > 2 ? 'day' : 'hour', productId }),
      may(caller, INTENTS.readEvents)
        ? caller.licet.events.list({ actor: 'service', from, limit: ALERTS })
        : null,
    ]);
    const { series, products, licenses, versions, expiries, gaps } = found;
    return {
      from: found.from,
      to: found.to,
      validations: objectOf(RESPONSE_TYPES, (type) =>
        series.reduce((sum, step) => sum + (step[type] ?? 0), 0),
      ),
      products,
      licenses,
      versions,
      expiries,
      gaps,
      /** Null for a token that may not read events. */
      alerts: alerts?.map(shownAlert) ?? null,
    };
  },
);

const searchDocs = readTool(
  z.strictObject({
    text: z
      .string()
      .trim()
      .min(2, 'must have at least 2 characters')
      .max(200)
      .describe('Words to look for, such as "offline lease".'),
  }),
  {
    name: 'search_docs',
    title: 'Search the guides',
    description:
      'Finds sections of the guides of Licet: the check in a program, markets, mails, operation. Use it for questions about Licet itself.',
    needs: [INTENTS.any],
  },
  async ({ text }, { readFile, origin }) => ({
    sections: searchGuides(await readFile('/llms-full.txt'), text, origin).slice(0, SECTIONS),
  }),
);

export const READS: readonly ReadTool[] = [
  find,
  explainRefusals,
  showLicense,
  listLicenses,
  statistics,
  searchDocs,
];
