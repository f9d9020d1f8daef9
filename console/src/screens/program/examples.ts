import csharp from '../../../../examples/Licet.cs?raw';
import java from '../../../../examples/Licet.java?raw';
import java17 from '../../../../examples/Licet17.java?raw';
import go from '../../../../examples/licet.go?raw';
import lua from '../../../../examples/licet.lua?raw';
import python from '../../../../examples/licet.py?raw';
import shell from '../../../../examples/licet.sh?raw';
import typescript from '../../../../examples/licet.ts?raw';
import type { ExampleFile } from './files';

/** An example as the screen needs it. */
interface Example {
  language: string;
  source: string;
  /** Compiles it, if need be, and runs it; `LICET_KEY=… ` comes before it. */
  compile?: string;
  run: string;
}

/** All in one file: together they compress far better. */
export const EXAMPLES: Readonly<Record<ExampleFile, Example>> = {
  'Licet.java': {
    language: 'Java',
    source: java,
    compile: 'javac --release 8 Licet.java',
    run: 'java Demo',
  },
  'Licet17.java': {
    language: 'Java 17',
    source: java17,
    compile: 'javac --release 17 Licet17.java',
    run: 'java Demo17',
  },
  'licet.ts': { language: 'TypeScript', source: typescript, run: 'node licet.ts' },
  'licet.py': { language: 'Python', source: python, run: 'python3 licet.py' },
  'Licet.cs': {
    language: 'C#',
    source: csharp,
    compile: 'mcs -r:System.Net.Http Licet.cs',
    run: 'mono Licet.exe',
  },
  'licet.lua': { language: 'Lua', source: lua, run: 'lua5.4 licet.lua' },
  'licet.go': { language: 'Go', source: go, compile: 'go build licet.go', run: './licet' },
  'licet.sh': { language: 'Shell', source: shell, run: 'sh licet.sh' },
};
