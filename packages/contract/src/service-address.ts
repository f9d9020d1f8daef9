import * as z from 'zod';
import { named } from './bodies.ts';

/** The address of the service that others get (3.3). */

/** A field beside an address of the service. */
export const isPublic = z
  .boolean()
  .describe(
    'Whether others can open the address. False if it leads to the machine or the network of the service: set the variable `PUBLIC_URL` then.',
  );

export const serviceAddress = named(
  'ServiceAddress',
  'The address of the service that others get.',
  z.strictObject({
    url: z.string().describe('The address, without a path.'),
    isPublic,
  }),
  { url: 'https://license.example.com', isPublic: true },
);
