/** The commands at Discord (10), as they are registered. This module imports nothing. */

const STRING = 3;
const INTEGER = 4;
const BOOLEAN = 5;
const USER = 6;
const SUBCOMMAND = 1;
/** Only administrators see it, until the server says otherwise. */
const ADMINISTRATORS = '0';
const IN_SERVERS = [0];

const license = {
  type: STRING,
  name: 'license',
  description: 'The license: begin to type its product or the end of its key',
  required: true,
  autocomplete: true,
};
const product = {
  type: STRING,
  name: 'product',
  description: 'The product',
  required: true,
  autocomplete: true,
};
const days = (description: string, required: boolean) => ({
  type: INTEGER,
  name: 'days',
  description,
  required,
  min_value: 1,
  max_value: 3650,
});

export const DISCORD_COMMANDS = [
  {
    name: 'redeem',
    description: 'Link a license to your Discord account',
    contexts: IN_SERVERS,
    options: [
      {
        type: STRING,
        name: 'key',
        description: 'The whole license key',
        required: true,
        max_length: 255,
      },
    ],
  },
  {
    name: 'link',
    description: 'Link all your licenses to your Discord account, also later ones',
    contexts: IN_SERVERS,
    options: [
      {
        type: STRING,
        name: 'code',
        description: 'The code that your page shows',
        required: true,
        max_length: 100,
      },
    ],
  },
  { name: 'licenses', description: 'Show your licenses', contexts: IN_SERVERS },
  {
    name: 'reset',
    description: 'Free slots of a license for another server or computer: one reset',
    contexts: IN_SERVERS,
    options: [
      license,
      {
        type: STRING,
        name: 'what',
        description: 'The server or computer to free; all of them unless you choose',
        autocomplete: true,
      },
    ],
  },
  { name: 'portal', description: 'Get a link to your own page', contexts: IN_SERVERS },
  {
    name: 'get-license',
    description: 'Get the license of a product that you have bought',
    contexts: IN_SERVERS,
    options: [product],
  },
  {
    name: 'license',
    description: 'Manage licenses',
    contexts: IN_SERVERS,
    default_member_permissions: ADMINISTRATORS,
    options: [
      {
        type: SUBCOMMAND,
        name: 'find',
        description: 'Find licenses by key, customer, note or id',
        options: [
          {
            type: STRING,
            name: 'query',
            description: 'A key, a part of it, an e-mail, an account or an id',
            required: true,
            max_length: 255,
          },
        ],
      },
      {
        type: SUBCOMMAND,
        name: 'create',
        description: 'Create a license',
        options: [
          product,
          { type: USER, name: 'user', description: 'Its owner' },
          days('Days from the first use; without them it does not expire', false),
        ],
      },
      {
        type: SUBCOMMAND,
        name: 'extend',
        description: 'Extend a temporary license',
        options: [license, days('Days, from its end or from now', true)],
      },
      {
        type: SUBCOMMAND,
        name: 'deactivate',
        description: 'Deactivate a license',
        options: [license],
      },
    ],
  },
  {
    name: 'blacklist',
    description: 'Manage the blacklist',
    contexts: IN_SERVERS,
    default_member_permissions: ADMINISTRATORS,
    options: [
      {
        type: SUBCOMMAND,
        name: 'add',
        description: 'Block an address, a range or a hardware ID',
        options: [
          {
            type: STRING,
            name: 'type',
            description: 'What is blocked',
            required: true,
            choices: [
              { name: 'IP address or range', value: 'IP' },
              { name: 'Hardware ID', value: 'HWID' },
            ],
          },
          {
            type: STRING,
            name: 'value',
            description: 'The address, range or hardware ID',
            required: true,
            max_length: 512,
          },
          { ...product, required: false, description: 'Only for this product' },
          { type: STRING, name: 'reason', description: 'For administrators', max_length: 1000 },
          {
            type: BOOLEAN,
            name: 'force',
            description: 'Also a hardware ID that many machines share',
          },
        ],
      },
    ],
  },
] as const;
