import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { Licet } from '@licet/client';
import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, round } from '../report.ts';
import { boundRequests, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { type Bench, shopOf } from './scenario.ts';

const MAX_SERVERS = 2;
/** Licenses that are validated. The others are reset. */
const VALIDATED = 4_000;
const RESETS = 600;
const RESETTING_CONNECTIONS = 4;
const RESET_PAUSE_MS = 40;
/** About 1,000 validations a second. */
const VALIDATION_PAUSE_MS = 9;
const MADE_UP = 10_000;
const MAX_RESET_MS = 500;
const APPLICATION = '1100000000000000001';
const GUILD = '1100000000000000002';

/** The raw key at the end of its DER form. */
const RAW_KEY_BYTES = 32;

function toBytes(body: string, timestamp: string, signature: string): Uint8Array {
  const head = [
    'POST /discord/interactions HTTP/1.1',
    'Host: licet.example',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Signature-Timestamp: ${timestamp}`,
    `X-Signature-Ed25519: ${signature}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const userOf = (licenseId: number): string => String(10n ** 17n + BigInt(licenseId));

function interaction(licenseId: number, privateKey: KeyObject): Uint8Array {
  const body = JSON.stringify({
    id: `reset-${licenseId}`,
    application_id: APPLICATION,
    type: 2,
    token: 'token',
    guild_id: GUILD,
    member: {
      user: { id: userOf(licenseId), username: `user${licenseId}` },
      roles: [],
      permissions: '0',
    },
    data: { name: 'reset', options: [{ name: 'license', type: 3, value: String(licenseId) }] },
  });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = sign(null, Buffer.from(timestamp + body), privateKey).toString('hex');
  return toBytes(body, timestamp, signature);
}

/** `/reset` beside validations, then interactions that somebody has made up. */
export async function discord({ settings }: Bench): Promise<Finding> {
  const licenses = settings.manyLicenses;
  const isQuick = settings.rounds === 1;
  const [resets, madeUp] = isQuick ? [50, 500] : [RESETS, MADE_UP];
  const validated = Math.min(VALIDATED, licenses / 2);
  await using service = await LocalServiceProcess.start('start', {
    ...shopOf(licenses),
    maxServers: MAX_SERVERS,
  });
  const { url, witness } = service;
  const licet = new Licet({ url: url.href, token: ROOT_TOKEN });
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  await licet.discordSettings.update({
    applicationId: APPLICATION,
    guildId: GUILD,
    publicKey: publicKey
      .export({ format: 'der', type: 'spki' })
      .subarray(-RAW_KEY_BYTES)
      .toString('hex'),
  });
  await licet.products.update(1, { selfResets: 100 });
  progress('discord, owners');
  const ids = Array.from({ length: resets }, (_, index) => licenses - index);
  for (const id of ids) await licet.licenses.update(id, { ownerChatId: userOf(id) });

  const requestAt = boundRequests(spreadIds(validated, validated));
  const expected = validResponse(MAX_SERVERS);
  progress('discord, warm-up');
  const target = { name: 'discord', worker: service, requestAt, expected, backsOff: true };
  const warmUp = await sendTo(
    { ...target, records: { witness, areKnown: true } },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * validated } },
  );
  progress('discord, resets');
  const commands = ids.map((id) => interaction(id, privateKey));
  const seconds = (resets / RESETTING_CONNECTIONS) * ((RESET_PAUSE_MS + 15) / 1000);
  const validate = () =>
    send({
      url,
      from: 0,
      requestAt,
      expected,
      connections: THRESHOLD_CONNECTIONS,
      pauseMs: VALIDATION_PAUSE_MS,
      until: { seconds },
      backsOff: true,
    });
  const [validations, resetting] = await Promise.all([
    validate(),
    send({
      url,
      from: 0,
      requestAt: (index) => commands[index] ?? new Uint8Array(),
      expected: { status: 200, body: '{"type":4,"data":{"content":"Done:' },
      connections: RESETTING_CONNECTIONS,
      pauseMs: RESET_PAUSE_MS,
      until: { count: resets },
    }),
  ]);
  progress('discord, made-up interactions');
  const timestamp = String(Math.floor(Date.now() / 1000));
  const made = await send({
    url,
    from: 0,
    requestAt: (index) => toBytes('{"type":2}', timestamp, index.toString(16).padStart(128, '0')),
    expected: { status: 401, limitedStatus: 429, body: '{' },
    connections: THRESHOLD_CONNECTIONS,
    until: { count: madeUp },
  });
  const watched = await witness.watch([validations], true);
  const named = [
    { name: 'validations beside resets', ...validations },
    { name: '/reset', ...resetting },
    { name: 'made-up interactions', ...made },
  ];
  const [counted, ...others] = named.map((one) => ({
    ...one,
    connections: THRESHOLD_CONNECTIONS,
    lost: 0,
    doubled: 0,
  }));
  return {
    scenario: 'discord',
    title: `Discord: npm start with ${licenses} licenses, ${resets} resets beside validations, then ${madeUp} made-up interactions`,
    results: [],
    table: named.map(({ name, requests, seconds: took, p50Ms, p99Ms, maxMs }) => ({
      requests: name,
      count: requests,
      'a second': round(requests / took, 0),
      'p50 ms': round(p50Ms),
      'p99 ms': round(p99Ms),
      'max ms': round(maxMs),
    })),
    thresholds: [atMost('p99 of /reset in ms', resetting.p99Ms, MAX_RESET_MS)],
    faults: [
      ...faultsOf('discord', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('discord', counted ? [{ ...counted, ...watched }, ...others] : []),
      ...service.log.faults('discord'),
    ],
    notes: [`${watched.due} responses, ${watched.stored} records`, ...service.log.notes()],
  };
}
