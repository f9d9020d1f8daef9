import { type License, LicetError } from '@licet/client';
import { canonicalAddress, canonicalNetwork } from '@licet/contract/addresses';
import { moved } from '@licet/contract/expiries';
import { INTENTS } from '@licet/contract/intents';
import { MAX_HWID_BYTES, MAX_LINK_MINUTES, MAX_TEXT_LENGTH } from '@licet/contract/limits';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { endOfDay } from '@licet/contract/time-zone';
import * as z from 'zod';
import { createLicense } from './create-license.ts';
import { endOfHwid, endOfKey, plural, shownLicense, shownSlot } from './shapes.ts';
import { type Caller, type Fields, invalid, may, type WriteTool, writeTool } from './tool.ts';

/** The tools that change one object (12). v2 makes each change, with its checks and its event. */

const ofLicense = {
  licenseId: z.int().min(1).describe('The id of the license.'),
  etag: z
    .string()
    .regex(/^(W\/)?"?\d{1,16}"?$/, 'must be the etag of explain_refusals or show_license')
    .transform((text) => `"${text.replace(/\D/g, '')}"`)
    .describe('The etag that explain_refusals or show_license returned.'),
};

interface OfLicense {
  licenseId: number;
  etag: string;
}

/** @throws LicetError 412 if the license has changed since the caller read it */
async function readUnchanged({ licenseId, etag }: OfLicense, { licet }: Caller): Promise<License> {
  const read = await licet.licenses.read(licenseId);
  if (read.etag === etag) return read.item;
  throw new LicetError(
    412,
    'The license has changed since it was read. Nothing was done. Call show_license, look at it again, and use its etag',
    { code: 'PRECONDITION_FAILED', field: 'etag' },
  );
}

const nameOf = ({ id, licenseKey }: License): string =>
  `license ${id} (key ${endOfKey(licenseKey)})`;

/** The changed license with its new etag, for the next change. */
async function changed(
  { licenseId, etag }: OfLicense,
  { licet }: Caller,
  body: Parameters<typeof licet.licenses.update>[1],
): Promise<Fields> {
  await licet.licenses.update(licenseId, body, { ifMatch: etag });
  const read = await licet.licenses.read(licenseId);
  return { license: shownLicense(read.item), etag: read.etag };
}

const values = (description: string, maxLength: number) =>
  z.array(z.string().min(1).max(maxLength)).max(100).optional().describe(description);

/** The values that stay bound. @throws LicetError for a named value that is not bound */
function without(bound: readonly string[], named: readonly string[], field: string): string[] {
  const missing = named.find((one) => !bound.includes(one));
  if (missing !== undefined) {
    throw invalid(
      field,
      'has a value that is not bound. Take values from the slots of show_license',
    );
  }
  return bound.filter((one) => !named.includes(one));
}

const freeSlots = writeTool(
  z.strictObject({
    ...ofLicense,
    all: z
      .boolean()
      .default(false)
      .describe('True frees all slots; ips and hwids are then left out.'),
    ips: values('The addresses to free, as the slots have them.', MAX_TEXT_LENGTH),
    hwids: values('The hardware IDs to free, as the slots have them.', MAX_HWID_BYTES),
  }),
  {
    name: 'free_slots',
    title: 'Free slots',
    description:
      'Frees slots of a license, all or those of named values, so that other machines can use it. A machine that still asks takes a slot again.',
    needs: [INTENTS.writeLicenses],
    isDestructive: true,
    isIdempotent: true,
  },
  async ({ all, ips = [], hwids = [], ...input }, caller) => {
    if (all === ips.length + hwids.length > 0) {
      throw invalid('all', 'must be true, or ips or hwids must name values, but not both');
    }
    const license = await readUnchanged(input, caller);
    const freedIps = all ? license.ips : ips.map((one) => canonicalAddress(one) ?? one);
    const freedHwids = all ? license.hwids : hwids;
    if (freedIps.length + freedHwids.length === 0) {
      throw new LicetError(409, 'The license has no slot that is taken', { code: 'CONFLICT' });
    }
    const body = {
      ips: without(license.ips, freedIps, 'ips'),
      hwids: without(license.hwids, freedHwids, 'hwids'),
    };
    const named = all ? [] : [...freedIps, ...freedHwids.map(endOfHwid)];
    const counts = [
      freedIps.length > 0 && plural(freedIps.length, 'address', 'addresses'),
      freedHwids.length > 0 && plural(freedHwids.length, 'hardware ID'),
    ].filter(Boolean);
    const list = named.length > 0 && named.length <= 10 ? `: ${named.join(', ')}` : '';
    return {
      question: `Free the slots of ${counts.join(' and ')} of ${nameOf(license)}${list}?`,
      change: { licenseId: license.id, frees: { ips: freedIps, hwids: freedHwids } },
      make: async () => {
        const fields = await changed(input, caller, body);
        const slots = await caller.licet.licenses.slots(license.id);
        return { ...fields, slots: slots.map(shownSlot) };
      },
    };
  },
);

/** A time for a question: `2035-12-31 23:59 UTC`. */
const timeOf = (time: string): string =>
  `${new Date(time).toISOString().slice(0, -':00.000Z'.length).replace('T', ' ')} UTC`;

/** The end of a day that a person named, in the time zone of the service (3). */
async function endOf(day: string, { licet }: Caller): Promise<string> {
  const { timeZone } = await licet.address();
  return new Date(endOfDay(day, timeZone)).toISOString();
}

const extend = writeTool(
  z.strictObject({
    ...ofLicense,
    days: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe('Days to add to the expiry, or to now if it has passed.'),
    until: z.iso
      .date('must be a day such as 2035-12-31')
      // Clocks of a time zone do not show year 0.
      .refine((day) => day >= '1970', 'must be a day such as 2035-12-31')
      .optional()
      .describe(
        'Instead of days: the last day of the license, to its end in the time zone of the service.',
      ),
  }),
  {
    name: 'extend',
    title: 'Extend',
    description:
      'Moves the expiry of a license by days, or to the end of a day. A license without an expiry cannot be extended.',
    needs: [INTENTS.writeLicenses],
    // An earlier day ends it sooner.
    isDestructive: true,
    isIdempotent: false,
  },
  async ({ days, until, ...input }, caller) => {
    const license = await readUnchanged(input, caller);
    if ((days === undefined) === (until === undefined)) {
      throw invalid('days', 'or until is required, and not both');
    }
    const { expiryDate } = license;
    if (expiryDate === null) {
      throw new LicetError(
        409,
        license.licenseType === 'PERMANENT'
          ? 'The license is PERMANENT and does not expire'
          : 'The license has no expiry yet: its time begins with the first validation',
        { code: 'CONFLICT' },
      );
    }
    const after =
      days === undefined ? await endOf(until ?? '', caller) : moved(expiryDate, { days });
    const by = days === undefined ? '' : ` by ${plural(days, 'day')},`;
    const verb = Date.parse(after) < Date.parse(expiryDate) ? 'Shorten' : 'Extend';
    const warning = Date.parse(after) <= Date.now() ? ' It then expires at once.' : '';
    return {
      question: `${verb} ${nameOf(license)}${by} to ${timeOf(after)}? Its expiry is ${timeOf(expiryDate)} now.${warning}`,
      change: { licenseId: license.id, expiryDate: { before: expiryDate, after } },
      make: () => changed(input, caller, { expiryDate: after }),
    };
  },
);

const setStatus = writeTool(
  z.strictObject({
    ...ofLicense,
    status: z.enum(['ACTIVE', 'DEACTIVATED']).describe('ACTIVE also restores a deleted license.'),
  }),
  {
    name: 'set_status',
    title: 'Deactivate or reactivate',
    description:
      'Deactivates a license, so that its programs are refused, or reactivates it. An expired license needs extend.',
    needs: [INTENTS.writeLicenses],
    isDestructive: true,
    isIdempotent: true,
  },
  async ({ status, ...input }, caller) => {
    const license = await readUnchanged(input, caller);
    const { licenseStatus } = license;
    const now = licenseStatus === 'EXPIRED' ? 'ACTIVE' : licenseStatus;
    if (now === status || (now === 'DELETED' && status === 'DEACTIVATED')) {
      const message =
        licenseStatus === 'EXPIRED' && status === 'ACTIVE'
          ? 'The license is EXPIRED: move its expiry with extend'
          : `The license is ${licenseStatus} already`;
      throw new LicetError(409, message, { code: 'CONFLICT' });
    }
    const verb = status === 'ACTIVE' ? 'Reactivate' : 'Deactivate';
    return {
      question: `${verb} ${nameOf(license)}? It is ${licenseStatus} now.`,
      change: { licenseId: license.id, licenseStatus: { before: licenseStatus, after: status } },
      make: () => changed(input, caller, { licenseStatus: status }),
    };
  },
);

const block = writeTool(
  z.strictObject({
    type: z.enum(['IP', 'HWID']).describe('IP for an address or a range, HWID for a hardware ID.'),
    value: z
      .string()
      .trim()
      .min(1)
      .max(MAX_HWID_BYTES)
      .describe('An IP address, a range such as 203.0.113.0/24, or a hardware ID.'),
    productId: z
      .int()
      .min(1)
      .optional()
      .describe('The one product to block it for. Without it, for all products.'),
    reason: z.string().max(200).optional().describe('The reason, for administrators.'),
  }),
  {
    name: 'block',
    title: 'Block',
    description:
      'Blocks an address, a range or a hardware ID, so that programs that ask with it are refused. A person unblocks it in the console.',
    needs: [INTENTS.writeBlacklists],
    isDestructive: true,
    isIdempotent: true,
  },
  async ({ type, value, productId, reason = '' }, caller) => {
    const network = type === 'IP' ? canonicalNetwork(value) : null;
    if (type === 'IP' && network === null) {
      throw invalid('value', 'must be an IP address, or a range such as 203.0.113.0/24');
    }
    const product = productId === undefined ? {} : { productId };
    const hits =
      network !== null && may(caller, INTENTS.readLicenses)
        ? await caller.licet.licenses
            .page({ ip: network, limit: 1, ...product })
            .then(({ total = null }) => total)
            // Too many installations for a count.
            .catch(() => null)
        : null;
    const shared = type === 'HWID' ? sharedHwid(value) : undefined;
    const name = network ?? `the hardware ID that ends in ${endOfHwid(value)}`;
    const warnings = [
      hits !== null && `Programs of ${plural(hits, 'license')} asked from there.`,
      shared && `Many machines share it: ${shared}.`,
    ].filter(Boolean);
    const scope = productId === undefined ? 'for all products' : `for product ${productId}`;
    return {
      question: [`Block ${name} ${scope}?`, ...warnings].join(' '),
      change: { type, value: network ?? value, productId: productId ?? null, reason },
      make: async () => {
        const entry = await caller.licet.blacklists.create({
          licenseDataType: type,
          data: value,
          isForAllProducts: productId === undefined,
          ...product,
          reason,
        });
        return { entryId: entry.id, data: entry.data };
      },
    };
  },
);

const portalLink = writeTool(
  z.strictObject({
    ...ofLicense,
    validMinutes: z
      .int()
      .min(1)
      .max(MAX_LINK_MINUTES)
      .default(60)
      .describe('Minutes within which the link can be opened.'),
  }),
  {
    name: 'portal_link',
    title: "Link to the customer's page",
    description:
      'Makes a link that opens the page of the owner of a license once. The page shows all licenses of the owner, with their whole keys: give the link to the owner alone.',
    needs: [INTENTS.writeLicenses],
    isDestructive: false,
    isIdempotent: false,
  },
  async ({ validMinutes, ...input }, caller) => {
    const license = await readUnchanged(input, caller);
    const { customer } = license;
    if (customer === null) {
      throw new LicetError(409, 'The license has no owner: give it one in the console', {
        code: 'CONFLICT',
      });
    }
    return {
      question: `Make a link to the page of customer ${customer.id}, the owner of ${nameOf(license)}? It works once within ${plural(validMinutes, 'minute')}, and shows all keys of this customer.`,
      change: { licenseId: license.id, customerId: customer.id, validMinutes },
      make: async () => ({
        ...(await caller.licet.portalLink({ licenseId: license.id, validMinutes })),
      }),
    };
  },
);

export const WRITES: readonly WriteTool[] = [
  freeSlots,
  extend,
  setStatus,
  createLicense,
  block,
  portalLink,
];
