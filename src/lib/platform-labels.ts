import { LABELLED_PLATFORMS, LICENSE_PLATFORMS } from '@licet/contract/enums';
import type { PlatformLabel } from '@licet/contract/platforms';

const MAX_LABEL_LENGTH = 40;

/** Removes control characters, because terminals and pages show labels, and shortens the label. */
function cleanLabel(text: string): string {
  const line = text.replaceAll(/\p{C}+/gu, ' ').trim();
  return [...line].slice(0, MAX_LABEL_LENGTH).join('').trim();
}

/**
 * The labels of the platforms, from a text such as `PLATFORM_A=SpigotMC, MARKET_A=BuiltByBit`. A platform keeps its
 * name if the text has no label for it, or the name or label of another platform.
 */
export function parsePlatformLabels(text = ''): PlatformLabel[] {
  const labels = new Map(
    text.split(',').map((pair) => {
      const [name = '', ...label] = pair.split('=');
      return [name.trim(), cleanLabel(label.join('='))];
    }),
  );
  const taken = new Set<string>(LICENSE_PLATFORMS);
  return LABELLED_PLATFORMS.map((platform) => {
    const label = labels.get(platform) ?? '';
    if (label === '' || taken.has(label.toUpperCase())) return { platform, label: platform };
    taken.add(label.toUpperCase());
    return { platform, label };
  });
}
