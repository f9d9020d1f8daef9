import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** An option before which the two dashes were forgotten goes to npm: the command must not run without it. */

const env = {
  ...process.env,
  NO_COLOR: '1',
  LICET_TOKEN: 'licet_nobody',
  LICET_URL: 'http://127.0.0.1:9',
};

describe('an option that npm took', () => {
  it.each([
    ['import', 'dry-run', ['shop.jsonl']],
    ['export', 'from', ['shop.jsonl']],
    ['backup', 'persist-to', ['shop.sqlite', 'DIR']],
    ['restore', 'persist-to', ['shop.sqlite', 'DIR']],
    ['licet', 'ips', ['licenses', 'free', 'KEY']],
    ['deploy', 'dry-run', []],
    ['doctor', 'timeout', ['http://127.0.0.1:9']],
    ['demo', 'url', []],
  ])('of npm run %s, --%s, is told, and nothing is done', (script, option, args) => {
    const { status, stdout, stderr } = spawnSync(
      'npm',
      ['run', '-s', script, ...args, `--${option}`],
      {
        env,
        encoding: 'utf8',
      },
    );
    expect(stderr).toContain(
      `npm took --${option} for itself. Options go behind two dashes: npm run ${script} -- … --${option}`,
    );
    expect(stdout).toBe('');
    expect(status).toBe(2);
  });

  it('of npm start is told as well', () => {
    const { status, stderr } = spawnSync('npm', ['-s', 'start', '--persist-to'], {
      env,
      encoding: 'utf8',
    });
    expect(stderr).toContain('npm start -- … --persist-to');
    expect(status).toBe(2);
  });
});
