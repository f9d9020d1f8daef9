import { CONSUMERS, tryPackage } from './program-packages.ts';

/** The package for Node. The others are in the long form, with their tools. */

tryPackage('npm', CONSUMERS.npm);
