import { LicetError } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import * as z from 'zod';
import { plural, shownLicense } from './shapes.ts';
import { invalid, may, writeTool } from './tool.ts';

/** The tool that creates a license (12.2). */

/** Reads an object that a new license names. @throws LicetError 400 that names the field, if there is none */
const named = <Item>(field: string, id: number, read: Promise<Item>): Promise<Item> =>
  read.catch((error) => {
    const isMissing = error instanceof LicetError && error.status === 404;
    throw isMissing ? invalid(field, `${id} does not exist`) : error;
  });

const limit = (what: string) =>
  z
    .int()
    .min(-1)
    .optional()
    .describe(`The limit of ${what}; -1 for no limit. Without it, that of the product.`);

/** A limit for a question; undefined for that of the product. */
const limitText = (most: number | undefined, one: string, many = `${one}s`): string | undefined => {
  if (most === undefined) return undefined;
  return most === -1 ? `any number of ${many}` : `at most ${plural(most, one, many)}`;
};

export const createLicense = writeTool(
  z.strictObject({
    productId: z.int().min(1).describe('The id of the product, as find and statistics return it.'),
    customerId: z.int().min(1).optional().describe('The id of the owner.'),
    customerEmail: z
      .email('must be an e-mail address')
      .optional()
      .describe(
        'Instead of customerId: the e-mail of the owner. An unknown one makes a new customer.',
      ),
    expiresAfterDays: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe(
        'Days from the first validation to the expiry. Without it, the license does not expire.',
      ),
    maxIPs: limit('addresses'),
    maxHWIDs: limit('hardware IDs'),
    notes: z.string().max(500).optional().describe('Notes for administrators.'),
  }),
  {
    name: 'create_license',
    title: 'Create a license',
    description:
      'Creates one license for a product and an owner. The owner sees the whole key on the page that portal_link opens.',
    needs: [INTENTS.writeLicenses],
    isDestructive: false,
    isIdempotent: false,
  },
  async ({ expiresAfterDays, ...given }, caller) => {
    const { licet } = caller;
    const { productId, customerId, customerEmail } = given;
    if (customerId !== undefined && customerEmail !== undefined) {
      throw invalid('customerEmail', 'must not be sent with customerId');
    }
    const body = {
      ...given,
      ...(expiresAfterDays === undefined
        ? { licenseType: 'PERMANENT' as const }
        : { licenseType: 'TEMPORARY' as const, expiresAfterDays }),
    };
    // Before a person is asked. v2 finds out the rest.
    const product = may(caller, INTENTS.readProducts)
      ? await named('productId', productId, licet.products.get(productId))
      : undefined;
    if (customerId !== undefined && may(caller, INTENTS.readCustomers)) {
      await named('customerId', customerId, licet.customers.get(customerId));
    }
    const owner =
      customerId === undefined ? (customerEmail ?? 'no owner') : `customer ${customerId}`;
    const life =
      expiresAfterDays === undefined
        ? 'that does not expire'
        : `for ${plural(expiresAfterDays, 'day')} from its first validation`;
    const limits = [
      limitText(given.maxIPs, 'address', 'addresses'),
      limitText(given.maxHWIDs, 'hardware ID'),
    ].filter((text) => text !== undefined);
    return {
      question: `Create a license of product ${productId} for ${owner}, ${life}${limits.length > 0 ? `, with ${limits.join(' and ')}` : ''}?`,
      change: { ...body, productName: product?.name ?? null },
      make: async () => {
        const license = await licet.licenses.create(body);
        const { etag } = await licet.licenses.read(license.id);
        return { license: shownLicense(license), etag };
      },
    };
  },
);
