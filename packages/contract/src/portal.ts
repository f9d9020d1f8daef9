import * as z from 'zod';
import { CREATED, named } from './bodies.ts';
import { id, text } from './fields.ts';
import {
  DEFAULT_LINK_MINUTES,
  MAX_CONTACT_LENGTH,
  MAX_LINK_MINUTES,
  MAX_LOGO_LENGTH,
  MAX_SELLER_NAME_LENGTH,
} from './limits.ts';
import { setting, updateBody, wireBody } from './resource.ts';
import { isPublic } from './service-address.ts';
import { wireTimestamp } from './time.ts';

/** The customer's page: its links and its settings (10). */

export const portalLinkCreate = named(
  'PortalLinkCreate',
  'The customer for whom a link is made.',
  z
    .strictObject({
      customerId: z.exactOptional(id).describe('The id of the customer.'),
      licenseId: z.exactOptional(id).describe('The id of a license of the customer.'),
      validMinutes: z
        .int()
        .min(1)
        .max(MAX_LINK_MINUTES)
        .default(DEFAULT_LINK_MINUTES)
        .describe('The minutes for which the link works.'),
    })
    .refine(
      ({ customerId, licenseId }) => (customerId === undefined) !== (licenseId === undefined),
      {
        error: 'is required, or licenseId: one of them',
        path: ['customerId'],
      },
    ),
  { customerId: 7, validMinutes: 60 },
);

export const portalLink = named(
  'PortalLink',
  "A link that opens the customer's page, once.",
  z.strictObject({
    url: z.string().describe('The link. Its code stands after `#`, which no server log shows.'),
    isPublic,
    customerId: z.int().describe('The customer whose licenses it opens.'),
    expiresAt: wireTimestamp.describe('From then on it opens nothing.'),
  }),
  {
    url: 'https://license.example.com/my#code=c29tZSByYW5kb20gYml0cyBoZXJlIGFuZCB0aGVyZSE',
    isPublic: true,
    customerId: 7,
    expiresAt: CREATED,
  },
);

const COLOUR = /^#[0-9a-fA-F]{6}$/;
const CONTACT = /^(https?:\/\/|mailto:)[^\s"<>]+$/;
const LOGO = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

const fields = {
  name: setting(
    text(MAX_SELLER_NAME_LENGTH).trim(),
    'Your name, in the head of the page; empty for none.',
  ),
  colour: setting(
    z.string().regex(COLOUR, 'must be a colour such as #2f4fbf').nullable(),
    'The colour of its buttons; null for that of Licet.',
  ),
  contact: setting(
    text(MAX_CONTACT_LENGTH)
      .trim()
      .regex(CONTACT, 'must begin with https:// or mailto:')
      .nullable(),
    'Where customers get help: a web address, such as an invitation to a chat, or `mailto:`.',
  ),
  logo: setting(
    z
      .string()
      .max(MAX_LOGO_LENGTH, 'must be a picture of at most 32 KB')
      .regex(LOGO, 'must be a PNG, JPEG or WebP as a data: URL')
      .nullable(),
    'A picture of at most 32 KB as a `data:` URL: the page loads nothing from elsewhere.',
  ),
};

export const portalSettings = named(
  'PortalSettings',
  "How the customer's page shows you.",
  wireBody(fields),
  { name: 'Ada Games', colour: '#2f4fbf', contact: 'https://discord.gg/example', logo: null },
);
export type PortalSettings = z.infer<typeof portalSettings>;

export const portalSettingsUpdate = named(
  'PortalSettingsUpdate',
  'Changes of the settings: an omitted field keeps its value [4.8].',
  updateBody(fields),
  { name: 'Ada Games' },
);

export const DEFAULT_PORTAL_SETTINGS: PortalSettings = {
  name: '',
  colour: null,
  contact: null,
  logo: null,
};
