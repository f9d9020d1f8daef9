/** @module-tag long */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { messageFor, nowSeconds } from './example-programs.ts';
import { newKeys } from './forged-responses.ts';
import { atEndOfFile, ownFolder } from './own.ts';
import {
  type Asked,
  honestBy,
  type Responder,
  type SignedService,
  startSignedService,
} from './signed-service.ts';
import { hasTools, pathOf } from './tools.ts';

/** The guard of the examples, in a server that has as much of Spigot and Folia as it meets. */

const isRunnable = hasTools('examples/LicetGuard.java', 'javac', 'java');
const folder = ownFolder();
const { pinned } = newKeys('RS256');

const [, section = ''] = readFileSync('examples/README.md', 'utf8').split(
  '\n## The guard of a plugin\n',
);
/** The code of the README: the plugin, the line that names a command, and the line that stops it at a refusal. */
const [plugin = '', withCommand = ''] = [...section.matchAll(/\n```java\n(.+?)\n```/gs)].map(
  ([, code = '']) => code,
);
const [, stopping = ''] = /`(licet\.onAnswer = .+ \};)`/.exec(section) ?? [];
const START = 'LicetGuard.start(this, licet);';
const MARK_FILE = 'getDataFolder().toPath().resolve("licet.mark")';
const CLOSE = 'if (licet != null) licet.close();';

/** The plugin of the README with other code in the place of its last line. */
const pluginWith = (name: string, start: string, members = 'void enableFeatures() {}'): string =>
  `package shop;
public class ${name} extends org.bukkit.plugin.java.JavaPlugin {
${plugin
  .replace('"https://license.example.com"', 'getConfig().getString("url")')
  .replace('"KID:KEY KID:KEY"', 'getConfig().getString("keys")')
  .replace(START, `licet.retrySeconds = 0;\n${start}`)}
${members}
}
`;

const FEATURES = `void enableFeatures() {
    getLogger().info("features on " + Thread.currentThread().getName());
}`;
const ON_COMMAND = `public boolean onCommand(org.bukkit.command.CommandSender sender, org.bukkit.command.Command command,
    String label, String[] args) {
    if (args[0].equals("fail")) throw new IllegalStateException("A fault of the plugin");
    sender.sendMessage("own executor: " + label + " " + String.join(" ", args));
    return args[0].equals("open");
}`;
const SETTING = `void enableFeatures() {
    getLogger().info("features");
    getCommand("shop").setExecutor((sender, command, label, args) -> {
        boolean isItself = getCommand("shop").getExecutor().equals(getCommand("shop").getExecutor());
        sender.sendMessage("new executor: " + args[0] + (isItself ? "" : " of another executor"));
        return true;
    });
}`;

const COMPLETING = `public java.util.List<String> onTabComplete(org.bukkit.command.CommandSender sender,
    org.bukkit.command.Command command, String alias, String[] args) {
    return java.util.Collections.singletonList("open");
}`;
const FAULTY = `void enableFeatures() {
    getCommand("shop").setExecutor((sender, command, label, args) -> {
        sender.sendMessage("new executor");
        return true;
    });
    throw new IllegalStateException("A fault of the features");
}`;

const DISABLING = `public java.util.logging.Logger getLogger() {
    setEnabled(false);
    return super.getLogger();
}`;

const PLUGINS = [
  pluginWith('Plain', START),
  pluginWith('Shop', withCommand, `${FEATURES}\n${ON_COMMAND}\n${COMPLETING}`),
  pluginWith('Faulty', withCommand, FAULTY),
  pluginWith('Setting', withCommand, SETTING),
  pluginWith(
    'Optional',
    'LicetGuard.start(this, licet, null, answer -> enableFeatures());',
    FEATURES,
  ),
  pluginWith('Stopping', `${stopping}\n${START}`),
  pluginWith(
    'Watching',
    `licet.onAnswer = answer -> getLogger().info("later " + answer.state);\n${START}`,
  ),
  pluginWith('Forgetful', START).replace(CLOSE, ''),
  pluginWith('Failing', withCommand).replace(MARK_FILE, 'null'),
  pluginWith('FailingPlain', START).replace(MARK_FILE, 'null'),
  pluginWith('Racing', START, DISABLING),
  pluginWith('Unknown', 'LicetGuard.start(this, licet, "store", answer -> {});'),
  pluginWith('Foreign', 'LicetGuard.start(new net.md_5.bungee.api.plugin.Plugin(), licet);'),
];

/** Writes the files that each begin with their package line. @returns their paths */
function writeJava(into: string, text: string): string[] {
  return text.split(/^(?=package )/m).flatMap((file) => {
    const [, name = ''] = /^package (.+);$/m.exec(file) ?? [];
    const [, type] = /^(?:public .*?)?(?:class|interface) (\w+)/m.exec(file) ?? [];
    if (!type) return [];
    const path = join(into, name.replaceAll('.', '/'), `${type}.java`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file);
    return [path];
  });
}

/** Java starts faster. */
const FAST = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** Compiles for Java 8. */
function compile(sources: string[], into: string, ...options: string[]): void {
  const args = [
    ...FAST.map((option) => `-J${option}`),
    '--release',
    '8',
    '-Xlint:-options',
    '-d',
    into,
    ...options,
    ...sources,
  ];
  execFileSync('javac', args, { stdio: 'pipe' });
}

/** The lines that the interface of the server lacks; that of Folia lacks none. */
const LACKING = {
  Spigot: /^.*GlobalRegionScheduler.*$/gm,
  Older: /^.*(?:GlobalRegion|Bukkit)Scheduler.*$/gm,
};
type Kind = 'Folia' | keyof typeof LACKING;
const classPathOf = (kind: Kind): string =>
  [join(folder, kind), join(folder, 'classes')].join(delimiter);

function compileServers(): void {
  const program = ['Licet', 'LicetGuard'].map(
    (name) => `package shop;\n${readFileSync(`examples/${name}.java`, 'utf8')}`,
  );
  const files = [readFileSync('test/node/bukkit.java', 'utf8'), ...program, ...PLUGINS];
  const sources = files.flatMap((text) => writeJava(join(folder, 'sources'), text));
  compile(sources, join(folder, 'classes'));
  const server = readFileSync(join(folder, 'sources/org/bukkit/Server.java'), 'utf8');
  for (const [kind, lines] of Object.entries(LACKING)) {
    const source = writeJava(join(folder, `${kind}-source`), server.replace(lines, ''));
    compile(source, join(folder, kind), '-cp', join(folder, 'classes'));
  }
}

/** The version and the path of each Java of the machine: the one in PATH first, then those where Debian has them. */
const javas = isRunnable
  ? [pathOf('java'), ...globSync('/usr/lib/jvm/*/bin/java')]
      .map((path) => realpathSync(path))
      .filter((path, at, paths) => paths.indexOf(path) === at)
      .map((java) => {
        const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
        return { java, version: /version "(?:1\.)?(\d+)/.exec(stderr)?.[1] ?? java };
      })
  : [{ java: 'java', version: 'none' }];
const machines = javas.flatMap(({ java, version }, at): [Kind, string, string][] => [
  ['Spigot', version, java],
  ...(at === 0 ? [['Folia', version, java] satisfies [Kind, string, string]] : []),
]);

const until = (isMet: () => boolean): Promise<unknown> =>
  vi.waitUntil(isMet, { timeout: 60_000, interval: 20 });

let service: SignedService;
beforeAll(async () => {
  if (isRunnable) compileServers();
  service = await startSignedService();
});

/** A server with a plugin: what happened there, and what the service was asked. */
interface Server {
  /** The data folder of the plugin. */
  place: string;
  events: string[];
  asked: Asked[];
  send: (verb: 'type' | 'complete' | 'disable' | 'settle', text?: string) => void;
  /** Waits for an event, by its beginning. */
  seen: (event: string) => Promise<unknown>;
}

/** Starts the servers of a Java, which are one process. @returns the start of a plugin there */
function startServers(java: string, kind: Kind) {
  const options = [...FAST, '-cp', classPathOf(kind)];
  // In Turkish, a small I has no dot.
  const languages = kind === 'Folia' ? ['-Duser.language=tr', '-Duser.country=TR'] : [];
  const main = ['org.bukkit.craftbukkit.Main', ...(kind === 'Folia' ? ['folia'] : [])];
  const child = spawn(java, [...options, ...languages, ...main]);
  atEndOfFile(() => child.kill());
  child.stderr.pipe(process.stderr);
  const servers = new Map<string, string[]>();
  createInterface(child.stdout).on('line', (line) => {
    const [, name = '', event = ''] = /^(\w+)\|(.*)$/.exec(line) ?? [];
    servers.get(name)?.push(event);
  });
  return (plugin: string, respond: Responder | undefined, place = newPlace()): Server => {
    const name = `server${++started}`;
    const events: string[] = [];
    const asked: Asked[] = [];
    servers.set(name, events);
    if (respond) service.responders.set(name, { respond, asked });
    const url = respond ? `${service.address}/${name}` : service.closedAddress;
    const say = (...parts: string[]) => child.stdin.write(`${[name, ...parts].join('|')}\n`);
    say('enable', plugin, place, url, pinned.constant);
    return {
      place,
      events,
      asked,
      send: (verb, text = '') => say(verb, text),
      seen: (event) => until(() => events.some((one) => one.startsWith(event))),
    };
  };
}

let started = 0;
const newPlace = (): string => join(folder, `place-${++started}`);

const VALID = 'License is valid';
const REFUSED = messageFor('License is deactivated');
const valid = honestBy(pinned, { leaseDays: 3, claims: { checkAfter: nowSeconds() + 5000 } });
const refused = honestBy(pinned, { valid: false });
const never: Responder = () => new Promise(() => {});
const startsWith = (text: string) => expect.stringMatching(new RegExp(`^${text}`));

/** A responder that waits for a signal. */
function heldBack(respond: Responder): { respond: Responder; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    respond: async (...asked) => {
      await promise;
      return respond(...asked);
    },
    release: resolve,
  };
}

describe.skipIf(!isRunnable).each(machines)('the guard on %s with Java %s', (kind, _, java) => {
  let start: ReturnType<typeof startServers>;
  beforeAll(() => {
    start = startServers(java, kind);
  });

  /** Starts a plugin in a place that has a fresh lease. */
  async function startFromLease(plugin: string, respond: Responder): Promise<Server> {
    const place = newPlace();
    const before = start('Plain', valid, place);
    await before.seen(`INFO|${VALID}`);
    before.send('disable');
    await before.seen('server|disabled');
    return start(plugin, respond, place);
  }

  it('a plugin is enabled at once, and runs with a valid license [1.8.44]', async () => {
    const { respond, release } = heldBack(valid);
    const server = start('Optional', respond);
    await until(() => server.asked.length === 1);
    // The main thread takes commands for the plugin.
    server.send('type', 'shop');
    await server.seen('said|usage');
    expect(server.events).toEqual(['said|usage']);
    release();
    await server.seen('INFO|features');
    server.send('disable');
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events).toEqual([
      'said|usage',
      `INFO|${VALID}`,
      'INFO|features on Server thread',
      'server|disabled',
      'server|settled',
    ]);
  });

  it('a plugin that is refused is disabled on the main thread, and its log has the message for the buyer [1.8.44, 1.8.45]', async () => {
    const server = start('Plain', refused);
    await server.seen('server|disabled');
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events).toEqual([`WARNING|${REFUSED}`, 'server|disabled', 'server|settled']);
  });

  it('a plugin without a lease is disabled if the service cannot be reached', async () => {
    const server = start('Plain', undefined);
    await server.seen('server|disabled');
    expect(server.events).toEqual([
      startsWith('WARNING.The license service cannot be reached '),
      'server|disabled',
    ]);
  });

  it('nothing happens to a plugin that is disabled before the answer [1.8.45]', async () => {
    for (const answer of [valid, refused]) {
      const { respond, release } = heldBack(answer);
      const server = start('Plain', respond);
      await until(() => server.asked.length === 1);
      server.send('disable');
      await server.seen('server|disabled');
      release();
      server.send('settle');
      await server.seen('server|settled');
      expect(server.events).toEqual(['server|disabled', 'server|settled']);
    }
  });

  it('a plugin that is disabled while its answer is taken over logs no error', async () => {
    const server = start('Racing', valid);
    await server.seen('scheduled');
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events).toEqual([
      `INFO|${VALID}`,
      'scheduled|for a disabled plugin',
      'server|settled',
    ]);
  });

  it('a plugin starts at once from its lease, though the service never responds', async () => {
    const server = await startFromLease('Optional', never);
    await server.seen('INFO|features');
    expect(server.events).toEqual([`INFO|${VALID}`, 'INFO|features on Server thread']);
  });

  it('a plugin with features and no command is disabled if it may not run', async () => {
    const server = start('Optional', refused);
    await server.seen('server|disabled');
    expect(server.events).toEqual([`WARNING|${REFUSED}`, 'server|disabled']);
  });

  it('a running plugin that is refused says so and runs on', async () => {
    const { respond, release } = heldBack(refused);
    const server = await startFromLease('Plain', respond);
    await server.seen(`INFO|${VALID}`);
    release();
    await server.seen('WARNING');
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events).toEqual([`INFO|${VALID}`, `WARNING|${REFUSED}`, 'server|settled']);
  });

  it('the line of the README disables a running plugin that is refused', async () => {
    const { respond, release } = heldBack(refused);
    const server = await startFromLease('Stopping', respond);
    await server.seen(`INFO|${VALID}`);
    release();
    await server.seen('server|disabled');
    expect(server.events.slice(1)).toEqual([`WARNING|${REFUSED}`, 'server|disabled']);
  });

  it('the own function of a plugin gets each later answer, and the log only a new state', async () => {
    const { respond, release } = heldBack(valid);
    const server = await startFromLease('Watching', respond);
    await server.seen(`INFO|${VALID}`);
    release();
    await server.seen('INFO|later VALID');
    expect(server.events).toEqual([`INFO|${VALID}`, 'INFO|later VALID']);
  });

  it('a plugin that never closes the license asks no more after it is disabled', async () => {
    const { respond, release } = heldBack(valid);
    const server = await startFromLease('Forgetful', respond);
    await until(() => server.asked.length === 1);
    await server.seen(`INFO|${VALID}`);
    server.send('disable');
    await server.seen('server|disabled');
    release();
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events.slice(1)).toEqual(['server|disabled', 'server|settled']);
  });

  it('a command shows the license and moves it, and the own executor takes the rest once the features are on [1.8.46, 1.8.47]', async () => {
    const { respond: later, release } = heldBack(valid);
    const server = start('Shop', (asked, nth) => (nth === 1 ? refused : later)(asked, nth));
    await server.seen('WARNING');
    const said = async (command: string, last: string): Promise<string[]> => {
      const before = server.events.length;
      server.send('type', command);
      await until(() => server.events.slice(before).some((one) => one.startsWith(last)));
      return server.events.slice(before);
    };
    const next = 'Asks again at the next start of the server, or for /store license move.';
    expect(await said('store LICENSE', 'said|Asks')).toEqual([
      `said|${REFUSED}`,
      'said|State: refused',
      `said|${next}`,
    ]);
    expect(await said('shop open', 'said')).toEqual([`said|${REFUSED}`]);
    expect(await said('shop', 'said')).toEqual([`said|${REFUSED}`]);
    expect(await said('shop license move', 'said')).toEqual([
      'said|Moving the license to this server ...',
    ]);
    release();
    await server.seen('INFO|features');
    expect(server.events.slice(-3)).toEqual([
      `INFO|${VALID}`,
      `said|${VALID}`,
      'INFO|features on Server thread',
    ]);
    expect(server.asked.map(({ takeOver }) => takeOver)).toEqual([undefined, true]);
    expect(await said('shop license', 'said|Asks')).toEqual([
      `said|${VALID}`,
      'said|State: valid',
      expect.stringMatching(/^said\|Asks again at 20\d\d-\d\d-\d\d \d\d:\d\d \S+\.$/),
    ]);
    expect(await said('store open now', 'said')).toEqual(['said|own executor: store open now']);
    expect(await said('shop license key', 'said|usage')).toEqual([
      'said|own executor: shop license key',
      'said|usage',
    ]);
    expect(await said('shop fail', 'thrown')).toEqual([
      'thrown|Unhandled exception: java.lang.IllegalStateException: A fault of the plugin',
    ]);
    await said('shop license move', `said|${VALID}`);
    server.send('disable');
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events.filter((event) => event.startsWith('INFO'))).toHaveLength(2);
  });

  it('a command says that the license is being checked, and is not taken away by the features', async () => {
    const { respond, release } = heldBack(valid);
    const server = start('Setting', respond);
    for (const command of ['shop open', 'shop license']) server.send('type', command);
    const checking = 'said|The license is being checked. Try again in a moment.';
    await until(() => server.events.length === 2);
    expect(server.events).toEqual([checking, checking]);
    release();
    await server.seen('INFO|features');
    server.send('type', 'shop open');
    await until(() => server.events.at(-1)?.startsWith('said') === true);
    server.send('type', 'shop license');
    await server.seen('said|Asks');
    expect(server.events.slice(2, 7)).toEqual([
      `INFO|${VALID}`,
      'INFO|features',
      'said|new executor: open',
      `said|${VALID}`,
      'said|State: valid',
    ]);
  });

  it('the own words of a command are completed once the features are on', async () => {
    const { respond, release } = heldBack(valid);
    const server = start('Shop', respond);
    server.send('complete', 'shop o');
    await server.seen('completed');
    expect(server.events).toEqual(['completed|names of players']);
    release();
    await server.seen('INFO|features');
    server.send('complete', 'shop o');
    await until(() => server.events.length === 4);
    expect(server.events.at(-1)).toBe('completed|open');
  });

  it('a command shows the license also where the features have failed', async () => {
    const server = start('Faulty', valid);
    await server.seen('thrown');
    expect(server.events).toEqual([
      `INFO|${VALID}`,
      'thrown|java.lang.IllegalStateException: A fault of the features',
    ]);
    server.send('type', 'shop license');
    await server.seen('said');
    expect(server.events[2]).toBe(`said|${VALID}`);
  });

  it('a running plugin whose service is away asks again within an hour, also without a lease', async () => {
    const { respond, release } = heldBack(async () => [503, {}]);
    const server = await startFromLease('Shop', respond);
    await server.seen('INFO|features');
    rmSync(join(server.place, 'licet.mark'));
    release();
    await server.seen('WARNING|The license service cannot be reached');
    server.send('type', 'shop license');
    await server.seen('said|Asks');
    expect(server.events.slice(-2)).toEqual([
      'said|State: unreachable',
      'said|Asks again within an hour.',
    ]);
    // A move is a new start.
    server.send('type', 'shop license move');
    await server.seen('said|Moving');
    await until(() => server.events.at(-1)?.startsWith('said|The license service') === true);
    server.send('type', 'shop license');
    await server.seen('said|Asks again at the next start');
  });

  it('an answer that a move has overtaken changes nothing', async () => {
    const { respond: first, release } = heldBack(valid);
    const server = start('Shop', (asked, nth) => (nth === 1 ? first : refused)(asked, nth));
    await until(() => server.asked.length === 1);
    server.send('type', 'shop license move');
    await server.seen(`said|${REFUSED}`);
    release();
    server.send('settle');
    await server.seen('server|settled');
    expect(server.events).toEqual([
      'said|Moving the license to this server ...',
      `WARNING|${REFUSED}`,
      `said|${REFUSED}`,
      'server|settled',
    ]);
  });

  it('a check that fails unexpectedly is logged, and disables a plugin without a command', async () => {
    const failed = 'SEVERE.The license could not be checked java.lang.NullPointerException';
    const server = start('FailingPlain', valid);
    await server.seen('server|disabled');
    const events = [startsWith(failed), 'server|disabled'];
    expect(server.events).toEqual(events);
    const withCommand = start('Failing', valid);
    await withCommand.seen('SEVERE');
    withCommand.send('type', 'shop license');
    await withCommand.seen('said|java.lang.NullPointerException');
    withCommand.send('type', 'shop license move');
    await until(() => withCommand.events.length === 5);
    expect(withCommand.events.slice(2)).toEqual([
      'said|Moving the license to this server ...',
      startsWith(failed),
      startsWith('said.java.lang.NullPointerException'),
    ]);
  });

  it.each([
    ['Unknown', "plugin.yml has no command 'store'; add it under commands:"],
    [
      'Foreign',
      'net.md_5.bungee.api.plugin.Plugin does not extend org.bukkit.plugin.java.JavaPlugin: LicetGuard is for Spigot, Paper, Purpur and Folia only',
    ],
  ])('the plugin %s learns at its start: %s', async (plugin, message) => {
    const server = start(plugin, never);
    await server.seen('thrown');
    expect(server.events).toEqual([`thrown|java.lang.IllegalArgumentException: ${message}`]);
    expect(server.asked).toEqual([]);
  });
});

it.runIf(isRunnable)(
  'a plugin on a server without a scheduler learns that at its start',
  async () => {
    const server = startServers('java', 'Older')('Plain', never);
    await server.seen('thrown');
    expect(server.events).toEqual([
      'thrown|java.lang.IllegalArgumentException: org.bukkit.Server has no method getScheduler as Bukkit has it',
    ]);
  },
);
