import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** npm takes an option without two dashes before it. The command must not run without the option. */

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
  ])('is a usage error of npm run %s: --%s', (script, option, args) => {
    const { status, stdout, stderr } = spawnSync(
      'npm',
      ['run', '-s', script, ...args, `--${option}`],
      {
        env,
        encoding: 'utf8',
      },
    );
    expect(stderr).toContain(`Put options after two dashes: npm run ${script} -- … --${option}`);
    expect(stdout).toBe('');
    expect(status).toBe(2);
  });

  it('is a usage error of npm start', () => {
    const { status, stderr } = spawnSync('npm', ['-s', 'start', '--persist-to'], {
      env,
      encoding: 'utf8',
    });
    expect(stderr).toContain('npm start -- … --persist-to');
    expect(status).toBe(2);
  });
});
