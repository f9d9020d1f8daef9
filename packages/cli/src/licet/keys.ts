import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Argument, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { EcPublicKey, RsaPublicKey, SigningKeyUse } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { argumentError } from '../command-line.ts';
import { fileAt } from '../invocation.ts';
import { addLine } from '../root-token.ts';
import { LANGUAGES, newSigningKey } from '../signing-keys.ts';
import { CliError } from '../terminal.ts';
import { type Column, examples, timeText } from './output.ts';
import { integerFrom, type OpenSession } from './session.ts';

type PublicKey = EcPublicKey | RsaPublicKey;
const ALGORITHMS = ['ES256', 'RS256'] as const;

/** Installations are counted once a day, so a key must be unused for longer. */
const MIN_QUIET_DAYS = 2;

interface Row extends SigningKeyUse {
  alg: string;
  isDefault: boolean;
}

const COLUMNS: Column<Row>[] = [
  { title: 'KID', text: ({ kid }) => kid },
  { title: 'ALGORITHM', text: ({ alg }) => alg },
  { title: 'DEFAULT', text: ({ isDefault }) => (isDefault ? 'yes' : '') },
  { title: 'INSTALLATIONS', text: ({ installations }) => String(installations) },
  {
    title: 'LAST ASKED (UTC)',
    text: ({ lastSeen }) => (lastSeen === null ? 'never' : timeText(lastSeen)),
  },
];

/** The constant that the examples take. */
const constantOf = (
  key: Pick<EcPublicKey, 'kty' | 'kid' | 'x' | 'y'> | Pick<RsaPublicKey, 'kty' | 'kid' | 'n'>,
): string => (key.kty === 'EC' ? `${key.kid}:${key.x}.${key.y}` : `${key.kid}:${key.n}`);

function pemOf({ kid, alg, use, ...jwk }: PublicKey): string {
  const key: JsonWebKey = { ...jwk };
  return createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString();
}

const FORMATS = {
  constant: constantOf,
  jwk: (key: PublicKey) => JSON.stringify(key),
  pem: (key: PublicKey) => pemOf(key).trimEnd(),
};

const isFormat = (text: string): text is keyof typeof FORMATS => Object.hasOwn(FORMATS, text);

/** `licet keys`: the keys of signed responses. */
export function addKeys(parent: CommandUnknownOpts, open: OpenSession): void {
  const keys = parent.command('keys').description('show and make the keys of signed responses');

  keys
    .command('list')
    .description('list the signing keys, and the number of installations that ask for each')
    .option(
      '--unused-for <days>',
      'only keys that no installation has asked for in this many days; they can be retired',
      integerFrom(MIN_QUIET_DAYS),
    )
    .addHelpText('after', examples('keys list', 'keys list --unused-for 90'))
    .action(async ({ unusedFor }) => {
      const { licet, output } = open();
      const [{ keys: all }, uses] = await Promise.all([
        licet.signingKeys(),
        licet.signingKeyUses(),
      ]);
      const useOf = new Map(uses.map((use) => [use.kid, use]));
      const rows = all.map(({ kid, alg }, index) => ({
        ...(useOf.get(kid) ?? { installations: 0, lastSeen: null }),
        kid,
        alg,
        isDefault: index === 0,
      }));
      const since = Date.now() - (unusedFor ?? 0) * DAY_MS;
      const isQuiet = ({ lastSeen }: Row) => lastSeen === null || Date.parse(lastSeen) < since;
      const shown = unusedFor === undefined ? rows : rows.filter(isQuiet);
      if (shown.length > 0 && !output.isJson) {
        output.note(
          'A new installation is counted within seconds. LAST ASKED is brought up to date once a day.',
        );
      }
      output.list(
        shown,
        COLUMNS,
        all.length === 0 ? 'The service does not sign.' : 'All keys are in use.',
      );
    });

  keys
    .command('show')
    .description('print the public half of a key, which you build into a program')
    .argument('<kid>', 'its kid, as keys list shows it')
    .addOption(
      new Option('--as <format>', 'its form: a constant for the examples, jwk or pem')
        .choices(Object.keys(FORMATS))
        .default('constant'),
    )
    .addHelpText('after', examples('keys show es-1f0c33ab', 'keys show rs-77aa01de --as pem'))
    .action(async (kid, { as }) => {
      const { licet, output } = open();
      const { keys: all } = await licet.signingKeys();
      const key = all.find((each) => each.kid === kid);
      if (!key || !isFormat(as)) {
        const known = all.map((each) => each.kid).join(', ') || 'none';
        throw new CliError(`The service has no key with the kid ${kid}. It has ${known}.`);
      }
      const message = `Public key of ${key.alg}, for programs in ${LANGUAGES[key.alg]}:`;
      if (output.isJson) return output.done(message, key);
      const lines = FORMATS[as](key).split('\n');
      output.doneAll(
        message,
        lines.map((line) => ({ line })),
        ({ line }) => line,
      );
    });

  keys
    .command('create')
    .description('make a new key in a file, which the service does not know yet')
    .addArgument(new Argument('<algorithm>', 'the algorithm').choices(ALGORITHMS))
    .argument('<file>', 'a new file for the private key: keep it secret')
    .addHelpText('after', examples('keys create ES256 new-key.json'))
    .action((algorithm, name) => {
      const { output } = open();
      const file = fileAt(name);
      if (existsSync(file)) throw argumentError(`${name} exists. Give the name of a new file.`);
      const { kid, jwk } = newSigningKey(algorithm);
      addLine(file, jwk);
      // The service cannot show a key that it does not have.
      const constant = constantOf(JSON.parse(jwk));
      output.done(
        `Key ${kid} is in ${name}. Keep it offline. If the first key is lost, give this one to the service under a free number. ` +
          `At Cloudflare: npx wrangler secret put SIGNING_KEY_3 < ${name}. ` +
          `With npm start: add SIGNING_KEY_3='…', with the line of ${name}, to signing-keys.env and start again. ` +
          'Its public half, for programs:',
        { kid, alg: algorithm, constant },
        constant,
      );
    });
}
