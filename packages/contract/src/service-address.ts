import * as z from 'zod';
import { named } from './bodies.ts';

/** The address of the service for others (3.3). */

/** A field beside an address of the service. */
export const isPublic = z
  .boolean()
  .describe(
    'Whether others can open the address. If false, only the machine of the service and its network can: set the variable `PUBLIC_URL`.',
  );

export const serviceAddress = named(
  'ServiceAddress',
  'The address of the service for others.',
  z.strictObject({
    url: z.string().describe('The address, without a path.'),
    isPublic,
    timeZone: z
      .string()
      .describe(
        'The time zone in which a day ends where people enter one: the variable `TIME_ZONE`.',
      ),
  }),
  { url: 'https://license.example.com', isPublic: true, timeZone: 'Europe/Berlin' },
);
