import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findDatabase } from '../../scripts/local/database.ts';
import { freePort, newFolder, type Watched, watch } from '../node/service.ts';
import { newLicense } from '../node/shop.ts';
import { hasTools } from '../node/tools.ts';

/** The image and the systemd unit of docs/one-machine.md, by the commands that build and start them. */

/** For installations, and several starts, on a machine that does much else. */
const SLOW_MS = 180_000;

const folder = newFolder();
// For the users that the image and the unit name.
chmodSync(folder, 0o755);
// Keeps each start from compiling the same files again.
const compileCache = { NODE_COMPILE_CACHE: join(folder, 'compiled') };
mkdirSync(compileCache.NODE_COMPILE_CACHE);
chmodSync(compileCache.NODE_COMPILE_CACHE, 0o777);
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const document = readFileSync('docs/one-machine.md', 'utf8');
const section = (heading: string): string =>
  document.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
const blocksOf = (text: string, kind: string): string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${kind}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block = '']) => block,
  );

const compose = JSON.parse(JSON.stringify(load(readFileSync('compose.yaml', 'utf8'))));

interface User {
  uid?: number;
  gid?: number;
}
/** Only root can start a process as somebody else. */
const SERVICE_USER: User = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

interface Place {
  cwd: string;
  env: NodeJS.ProcessEnv;
  user?: User;
}

/**
 * Runs a line of shell; fails where it does. Not synchronously: the service closes connections that nobody
 * uses, and a process that waits does not notice.
 */
async function shell(line: string, { cwd, env, user }: Place, input?: Buffer): Promise<void> {
  const child = spawn('sh', ['-ec', line], { cwd, env, ...user, stdio: 'pipe' });
  child.stdin.end(input);
  const { code, output } = await watch(child).ended;
  if (code !== 0) throw new Error(`${line}\n${output}`);
}

type Handler = [command: RegExp, handle: (match: RegExpExecArray) => unknown];

/** Runs a block of the document by its lines; what no handler takes is run as it is printed. */
async function follow(block: string, place: Place, handlers: readonly Handler[]): Promise<void> {
  const at = { ...place };
  const own: Handler[] = [
    [/^cd (\S+)$/, ([, cwd = '']) => (at.cwd = cwd)],
    [/^()()(.+)$/, ([line]) => shell(line, at)],
  ];
  for (const line of block.trim().split('\n')) {
    const [command, handle] = [...handlers, ...own].find(([known]) => known.test(line)) ?? [];
    const match = command?.exec(line);
    if (match) await handle?.(match);
  }
}

interface Running {
  child: ChildProcess;
  watched: Watched;
  address: string;
  stop: () => Promise<number | null>;
}

/** Starts a command as its supervisor does, and waits until the service says that it runs. */
async function run([program = '', ...args]: string[], place: Place): Promise<Running> {
  const { cwd, env, user } = place;
  const port = String(await freePort());
  const child = spawn(program, [...args, '--port', port], { cwd, env, ...user, stdio: 'pipe' });
  running.add(child);
  child.on('close', () => running.delete(child));
  const watched = watch(child);
  await watched.printed('Licet runs on');
  const stop = async () => {
    child.kill('SIGTERM');
    return (await watched.ended).code;
  };
  return { child, watched, address: `http://127.0.0.1:${port}`, stop };
}

const keysOf = async (licet: Licet): Promise<string[]> =>
  (await licet.licenses.list()).map(({ licenseKey }) => licenseKey);

/** The license keys in the database of a service that does not run. */
function keysIn(state: string): unknown[] {
  const database = new DatabaseSync(findDatabase(state) ?? '', { readOnly: true });
  const rows = database.prepare('select license_key from licenses order by id desc').all();
  database.close();
  return rows.map((row) => row.license_key);
}

const isPrivate = (path: string): boolean => (statSync(path).mode & 0o077) === 0;

/** Made by a check of the types. */
const LEFT_OUT = 'packages/*/dist';
/** The files that .dockerignore lets into the image: all that the service needs. */
const [everything, ...lines] = readFileSync('.dockerignore', 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .trim()
  .split('\n');
const exceptions = lines.filter((line) => line !== LEFT_OUT);
const contextFiles = exceptions.map((exception) => exception.slice(1));
/** Whether a file is in a fresh clone of the project, before anything has run. */
const isCloned = (path: string): boolean =>
  !/^(public\/(openapi\.json|docs\/(swagger-ui|examples|[\w-]+\.html))|packages\/\w+\/dist)/.test(
    path,
  );

function copyContext(target: string): void {
  for (const path of contextFiles) {
    cpSync(path, join(target, path), { recursive: true, filter: isCloned });
  }
}

/**
 * The result of `npm ci --omit=dev`: the packages that package-lock.json does not mark as for development. As links to
 * the files of this installation, which are quicker than another one; as copies on another file system.
 */
async function installPackages(place: Place): Promise<void> {
  const lock = JSON.parse(readFileSync(join(place.cwd, 'package-lock.json'), 'utf8'));
  const packages: [string, { dev?: boolean; link?: boolean; resolved?: string }][] = Object.entries(
    lock.packages,
  );
  const wanted = packages.filter(
    ([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev,
  );
  for (const [path, { resolved = '' }] of wanted.filter(([, { link }]) => link)) {
    mkdirSync(join(place.cwd, dirname(path)), { recursive: true });
    symlinkSync(join('../..', resolved), join(place.cwd, path));
  }
  const paths = wanted
    .filter(([, { link }]) => !link)
    .map(([path]) => path)
    // Packages for other systems are not installed.
    .filter((path) => existsSync(path));
  const copies = `--parents ${paths.join(' ')} ${place.cwd}`;
  const command = `cp -alL ${copies} 2>&- || cp -aL ${copies}`;
  await shell(command, { ...place, cwd: resolve('.') });
}

interface Step {
  instruction: string;
  text: string;
}

/** The steps of the Dockerfile, a stage each. */
const stages: Step[][] = [];
for (const line of readFileSync('Dockerfile', 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)) {
  const [, instruction = '', text = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
  if (instruction === 'FROM') stages.push([]);
  stages.at(-1)?.push({ instruction, text });
}

/** An image as it is started. */
interface Image {
  /** Stands in for the root of its file system. */
  root: string;
  home: string;
  user: string;
  env: NodeJS.ProcessEnv;
  volume: string;
  entrypoint: string[];
  healthcheck: string[];
}

/** Names a folder below another root wherever a command names it. */
const below = (root: string, text: string): string =>
  text.replaceAll(/(?<![\w.}-])\/(?=(app|data|opt|var|etc)\b)/g, `${root}/`);

/** Runs the steps of the Dockerfile as plain commands, in a folder in place of the root. */
async function buildImage(): Promise<Image> {
  const roots = new Map<string, string>();
  let last: Image | undefined;
  for (const [index, stage] of stages.entries()) {
    const root = join(folder, `stage-${index}`);
    const env: NodeJS.ProcessEnv = { ...process.env };
    const image: Image = {
      root,
      home: root,
      user: '0:0',
      env,
      volume: '',
      entrypoint: [],
      healthcheck: [],
    };
    const instructions: Record<string, (text: string) => unknown> = {
      FROM: (text) => {
        mkdirSync(root);
        roots.set(/ AS (\w+)$/.exec(text)?.[1] ?? '', root);
      },
      WORKDIR: (text) => {
        image.home = below(root, text);
        mkdirSync(image.home);
      },
      ENV: (text) => {
        const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(below(root, text)) ?? [];
        env[name] = value.replaceAll(/\$(\w+)/g, (_, other: string) => env[other] ?? '');
      },
      COPY: (text) => {
        const [, stageName = '', from = ''] = /^--from=(\w+) (\S+) \2$/.exec(text) ?? [];
        const source = roots.get(stageName);
        // No other stage needs it, and moving is quicker than copying.
        if (source !== undefined) renameSync(source + from, root + from);
        else if (text === '. .') copyContext(image.home);
        else {
          const files = text.split(' ');
          const target = join(image.home, files.pop() ?? '');
          for (const file of files) cpSync(file, join(target, basename(file)));
        }
      },
      RUN: (text) => {
        const { uid = process.getuid?.(), gid = process.getgid?.() } = SERVICE_USER;
        const command = below(root, text).replace('-o 1000 -g 1000', `-o ${uid} -g ${gid}`);
        const at = { cwd: image.home, env };
        return text === 'npm ci --omit=dev' ? installPackages(at) : shell(command, at);
      },
      USER: (text) => {
        image.user = text;
      },
      VOLUME: (text) => {
        image.volume = text;
      },
      EXPOSE: (text) => expect(text).toBe('8787'),
      HEALTHCHECK: (text) => {
        image.healthcheck = JSON.parse(text.slice(text.indexOf('[')));
      },
      ENTRYPOINT: (text) => {
        image.entrypoint = JSON.parse(below(root, text));
      },
    };
    for (const { instruction, text } of stage) {
      expect(instructions).toHaveProperty(instruction);
      await instructions[instruction]?.(text);
    }
    last = image;
  }
  if (last === undefined) throw new Error('The Dockerfile has no stage');
  return last;
}

describe('the image', () => {
  let image: Image;
  let service: Running;
  let place: Place;
  let licet: Licet;
  const inImage = (path: string) => join(image.root, path);

  async function start(): Promise<void> {
    service = await run([...image.entrypoint, ...compose.services.licet.command], place);
    licet = new Licet({ url: service.address, token: readRootToken(inImage('data/.dev.vars')) });
  }

  beforeAll(async () => {
    image = await buildImage();
    // As compose.yaml has it: nothing can be written but the volume, and /tmp.
    const temporary = inImage('tmp');
    mkdirSync(temporary);
    chmodSync(temporary, 0o777);
    const env = { ...image.env, ...compileCache, TMPDIR: temporary, HOME: '/nonexistent' };
    place = { cwd: image.home, env, user: SERVICE_USER };
    await start();
  }, SLOW_MS);

  it('the image is based on the Node that the project brings', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const base = new RegExp(`^node:${devDependencies.node}-bookworm-slim( AS|$)`);
    for (const [from] of stages) expect(from?.text).toMatch(base);
  });

  it('the image holds no secret, no data and nothing that only development needs', () => {
    expect(everything).toBe('*');
    for (const exception of exceptions) expect(exception).toMatch(/^![\w.\-/]+$/);
    const names = readdirSync(image.home).filter((name) => name !== 'node_modules');
    const copied = contextFiles.map((path) => path.split('/')[0]);
    expect(names.sort()).toEqual([...copied, '.dev.vars'].sort());
    expect(existsSync(join(image.home, 'node_modules', 'vitest'))).toBe(false);
  });

  it('the image starts as npm start does', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    const { MALLOC_MMAP_THRESHOLD_: threshold } = image.env;
    const command = `MALLOC_MMAP_THRESHOLD_=${threshold} exec ${image.entrypoint.join(' ')}`;
    expect(command).toMatch(new RegExp(`^${scripts.start} --ip `));
  });

  it('the image starts without root, validates and is healthy', async () => {
    expect(image.user).toBe('1000:1000');
    const { licenseKey, productId } = await newLicense(licet);
    expect(await licet.validate({ licenseKey, productId })).toMatchObject({ valid: true });
    expect(await checkHealth()).toBe(0);
  });

  it('the image keeps database and root token in the volume, for its user alone', () => {
    expect(compose.services.licet.volumes).toEqual([`data:${image.volume}`]);
    expect(readdirSync(inImage(image.volume))).toEqual(expect.arrayContaining(['.dev.vars', 'v3']));
    expect(isPrivate(inImage(image.volume))).toBe(true);
    expect(isPrivate(inImage(`${image.volume}/.dev.vars`))).toBe(true);
  });

  it('the image is backed up and restored by the commands of the document', {
    timeout: SLOW_MS,
  }, async () => {
    const host = join(folder, 'host');
    mkdirSync(host);
    const handlers: Handler[] = [
      [
        /^docker compose exec licet (.+)$/,
        ([, line = '']) => shell(below(image.root, line), place),
      ],
      [
        /^docker compose run --rm(?: -T)? --entrypoint (\w+) licet (.+?)(?: < (\S+))?$/,
        ([, program, args = '', input]) =>
          shell(
            `${program} ${below(image.root, args)}`,
            place,
            input === undefined ? undefined : readFileSync(join(host, input)),
          ),
      ],
      [
        /^docker compose cp licet:(\S+) \.$/,
        ([, path = '']) => copyFileSync(inImage(path), join(host, 'backup.sqlite')),
      ],
      [/^docker compose stop$/, async () => expect(await service.stop()).toBe(0)],
      [/^docker compose start$/, start],
    ];
    const [, , backup = '', restore = ''] = blocksOf(section('Backup and restore'), 'sh');
    const before = await keysOf(licet);
    await follow(backup, place, handlers);
    await newLicense(licet);
    await follow(restore, place, handlers);
    expect(before).not.toEqual([]);
    expect(await keysOf(licet)).toEqual(before);
  });

  /** The status of the health check. */
  async function checkHealth(): Promise<number | null> {
    const [program = '', ...args] = image.healthcheck.map((argument) =>
      argument.replace('http://127.0.0.1:8787', service.address),
    );
    return (await watch(spawn(program, args, { env: place.env })).ended).code;
  }

  it('the image ends with status 0 when it is asked to, and is not healthy then', async () => {
    expect(await service.stop()).toBe(0);
    expect(await checkHealth()).toBe(1);
  });
});

describe('the systemd unit', () => {
  const root = join(folder, 'machine');
  const onMachine = (text: string): string => below(root, text);
  const state = onMachine('/var/lib/licet');
  const unitFile = onMachine('/etc/systemd/system/licet.service');
  const host: Place = { cwd: folder, env: { ...process.env } };
  const noticed: string[] = [];
  let place: Place;
  let service: Running;
  let licet: Licet;

  /** All values of a setting of the unit. */
  const settings = (name: string): string[] => {
    const unit = readFileSync(unitFile, 'utf8').replaceAll(/\\\n\s*/g, '');
    return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  };
  const [restore = ''] = blocksOf(section('Backup and restore'), 'sh').slice(1);

  /** Stand-ins for commands that need root on a real machine, or take longer than a test. */
  const handlers: Handler[] = [
    [
      /^npm ci$/,
      () => symlinkSync(resolve('node_modules'), join(onMachine('/opt/licet'), 'node_modules')),
    ],
    [/^useradd .* licet$/, ([line]) => noticed.push(line)],
    [/^install -d -m 700 -o licet -g licet (\S+)$/, ([, path = '']) => makePrivate(path)],
    [/^curl -sS .* http:\/\/localhost:8787\/api\/v2\/healthy$/, ([line]) => noticed.push(line)],
    [/^systemctl enable --now licet$/, start],
    // The test of the image starts a service on restored data.
    [/^systemctl start licet$/, ([line]) => noticed.push(line)],
    [/^systemctl stop licet$/, async () => expect(await service.stop()).toBe(0)],
    [/^(cd \S+ && )?sudo -u licet (.+)$/, ([, , line = '']) => shell(line, place)],
    [/^git pull && npm ci$/, ([line]) => noticed.push(line)],
    [
      /^cp (\S+) (\S+) && systemctl daemon-reload$/,
      ([, from = '', to = '']) => copyFileSync(join(onMachine('/opt/licet'), from), join(to, from)),
    ],
    [/^systemctl restart licet$/, ([line]) => noticed.push(line)],
  ];
  const followHere = (block: string) => follow(onMachine(block), host, handlers);

  function makePrivate(path: string): void {
    mkdirSync(path, { mode: 0o700 });
    const { uid, gid } = SERVICE_USER;
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  }

  /** As systemd starts it, without the sandbox. */
  async function start(): Promise<void> {
    if (!existsSync(state)) makePrivate(state);
    const env: NodeJS.ProcessEnv = { ...compileCache, HOME: state };
    const assigned = settings('Environment').flatMap((line) => onMachine(line).split(' '));
    const variables = settings('EnvironmentFile').flatMap((file) =>
      readFileSync(onMachine(file.replace(/^-/, '')), 'utf8')
        .trim()
        .split('\n'),
    );
    for (const assignment of [...assigned, ...variables]) {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(assignment) ?? [];
      env[name] = value;
    }
    const cwd = onMachine(settings('WorkingDirectory')[0] ?? '');
    place = { cwd, env, user: SERVICE_USER };
    for (const command of settings('ExecStartPre')) {
      expect(command).toMatch(/^\+/);
      await shell(onMachine(command.slice(1)), { cwd, env });
    }
    const [command = ''] = settings('ExecStart');
    const words = onMachine(command).replaceAll(/\$(\w+)/g, (_, name: string) => env[name] ?? '');
    service = await run(words.split(' ').filter(Boolean), place);
    licet = new Licet({ url: service.address, token: readRootToken(join(state, '.dev.vars')) });
  }

  beforeAll(async () => {
    copyContext(onMachine('/opt/licet'));
    copyFileSync('licet.service', join(onMachine('/opt/licet'), 'licet.service'));
    for (const path of ['/etc/systemd/system', '/var/lib', '/var/backups']) {
      mkdirSync(onMachine(path), { recursive: true });
    }
    const [variables = ''] = blocksOf(section('As a service'), 'ini');
    writeFileSync(onMachine('/etc/licet.env'), variables);
    const [install = ''] = blocksOf(section('As a service'), 'sh');
    await followHere(install);
  }, SLOW_MS);

  const hasAnalyzer = hasTools('mistakes in licet.service', 'systemd-analyze');

  it.skipIf(!hasAnalyzer)('the systemd unit has no mistake that systemd finds', () => {
    const verified = join(folder, 'licet.service');
    writeFileSync(verified, onMachine(readFileSync(unitFile, 'utf8')));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', verified]);
    expect(String(stderr)).not.toContain('licet.service');
    expect(status).toBe(0);
  });

  it('the systemd unit starts as the user licet with the variables of /etc/licet.env', async () => {
    expect(settings('User')).toEqual(['licet']);
    expect(noticed[0]).toContain('useradd --system');
    const { licenseKey, productId } = await newLicense(licet);
    const validate = (hwid?: string) =>
      licet.validate({ licenseKey, productId, ...(hwid && { hwid }) });
    expect(await validate('server-1')).toMatchObject({ valid: true });
    await expect(validate()).rejects.toThrow('hwid is required');
  });

  it('the systemd unit keeps database and root token in its state folder, for its user alone', () => {
    expect(settings('StateDirectory')).toEqual(['licet']);
    expect(settings('StateDirectoryMode')).toEqual(['0700']);
    expect(isPrivate(join(state, '.dev.vars'))).toBe(true);
    expect(isPrivate(join(state, 'v3'))).toBe(true);
  });

  it('the systemd unit is backed up by the line for cron, stopped, restored and updated by the commands of the document', {
    timeout: SLOW_MS,
  }, async () => {
    const [makeFolder = ''] = blocksOf(section('Backup and restore'), 'sh');
    await followHere(makeFolder);
    const [line = ''] = blocksOf(section('Backup and restore'), 'cron');
    const [, job = ''] = /^15 3 \* \* \* licet (.+)$/m.exec(line) ?? [];
    const before = await keysOf(licet);
    // cron takes a bare % for a line end.
    await shell(onMachine(job.replaceAll('\\%', '%')), place);
    const [backup = '', ...others] = readdirSync(onMachine('/var/backups/licet'));
    expect(others).toEqual([]);
    expect(isPrivate(join(onMachine('/var/backups/licet'), backup))).toBe(true);

    await newLicense(licet);
    await followHere(restore.replace('2026-11-20.sqlite', backup));
    expect(before).not.toEqual([]);
    expect(keysIn(state)).toEqual(before);

    const [update = ''] = blocksOf(section('Updating'), 'sh');
    await followHere(update);
    expect(readdirSync(onMachine('/var/backups/licet'))).toHaveLength(2);
    expect(noticed.at(-1)).toBe('systemctl restart licet');
  });
});
