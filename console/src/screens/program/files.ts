/** The files of `examples/`, the most common first. */
export const FILES = [
  'Licet.java',
  'Licet17.java',
  'licet.ts',
  'licet.mjs',
  'licet.py',
  'licet.php',
  'Licet.cs',
  'licet.lua',
  'licet.go',
  'licet.sh',
] as const;
export type ExampleFile = (typeof FILES)[number];
