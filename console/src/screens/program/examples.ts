import type { Algorithm } from '../../screen-texts.ts';
import type { ExampleFile } from './files.ts';

/** An example as the screen needs it. */
interface Example {
  language: string;
  /** The algorithm of its public keys, which its language verifies without a library. */
  alg: Algorithm;
  /** The commands that compile and run it. `LICET_KEY=… ` goes before `run`. */
  compile?: string;
  run: string;
  /** A newer version than the file itself needs. */
  needs?: string;
}

/** The examples. */
export const EXAMPLES: Readonly<Record<ExampleFile, Example>> = {
  'Licet.java': {
    language: 'Java',
    alg: 'RS256',
    compile: 'javac --release 8 Licet.java',
    run: 'java Demo',
  },
  'Licet17.java': {
    language: 'Java 17',
    alg: 'RS256',
    compile: 'javac --release 17 Licet17.java',
    run: 'java Demo17',
  },
  'licet.ts': {
    language: 'TypeScript',
    alg: 'ES256',
    run: 'node licet.ts',
    needs: 'Node 24',
  },
  'licet.mjs': {
    language: 'JavaScript',
    alg: 'ES256',
    run: 'node licet.mjs',
  },
  'licet.py': {
    language: 'Python',
    alg: 'RS256',
    run: 'python3 licet.py',
  },
  'licet.php': {
    language: 'PHP',
    alg: 'RS256',
    run: 'php licet.php',
  },
  'Licet.cs': {
    language: 'C#',
    alg: 'RS256',
    compile: 'mcs -r:System.Net.Http Licet.cs',
    run: 'mono Licet.exe',
  },
  'licet.lua': {
    language: 'Lua',
    alg: 'RS256',
    run: 'lua5.4 licet.lua',
  },
  'licet.go': {
    language: 'Go',
    alg: 'ES256',
    compile: 'go build licet.go',
    run: './licet',
  },
  'licet.sh': {
    language: 'Shell',
    alg: 'RS256',
    run: 'sh licet.sh',
  },
};
