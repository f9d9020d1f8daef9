import * as z from 'zod';
import { named } from './bodies.ts';
import { LABELLED_PLATFORMS } from './enums.ts';

export const platformLabel = named(
  'PlatformLabel',
  'The label of a platform.',
  z.strictObject({
    platform: z
      .enum(LABELLED_PLATFORMS)
      .describe('The name, which all other endpoints take and return.'),
    label: z.string().describe('The label that people see: the name, if none is set.'),
  }),
  { platform: 'MARKET_A', label: 'SpigotMC' },
);
export type PlatformLabel = z.infer<typeof platformLabel>;
