/** @module-tag long */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { sharedService } from './shared-service.ts';
import { hasTools } from './tools.ts';

/** A program that writes its JSON with Java's String.format, as shipped ones do, in other locales (decision 1.1). */

const PROGRAM = `
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Locale;
class Shipped {
  public static void main(String[] args) throws Exception {
    for (int at = 3; at < args.length; at++) {
      Locale.setDefault(Locale.forLanguageTag(args[at]));
      String json = String.format("{\\"licenseKey\\":\\"%s\\",\\"productId\\":%d,\\"hwid\\":\\"%s\\"}",
        args[1], Integer.parseInt(args[2]), "H");
      HttpURLConnection http = (HttpURLConnection) new URL(args[0] + "/api/v1/validate").openConnection();
      http.setRequestMethod("POST");
      http.setDoOutput(true);
      try (OutputStream out = http.getOutputStream()) {
        out.write(json.getBytes("UTF-8"));
      }
      System.out.println(http.getResponseCode() + " " + json);
    }
  }
}`;

/** With digits of their own, or other rules of upper case. */
const LOCALES = ['ar-EG', 'fa-IR', 'my-MM', 'ne-NP', 'mr-IN', 'ckb-IQ', 'tr-TR', 'en-US'];

describe.skipIf(!hasTools('String.format of Java', 'java', 'javac'))(
  'String.format of Java',
  () => {
    const folder = ownFolder();
    let licet: Licet;
    let url: string;
    beforeAll(async () => {
      url = await sharedService();
      licet = new Licet({ url, token: readRootToken() });
      writeFileSync(join(folder, 'Shipped.java'), PROGRAM);
      const { stderr } = spawnSync('javac', ['Shipped.java'], { cwd: folder });
      expect(String(stderr)).not.toContain('error');
    });

    it.each([
      ['as it is', ''],
      ['with a tab behind it', '\t'],
      ['with a line end behind it', '\r\n'],
      ['with a backslash behind it', '\\'],
    ])(
      'a program that formats its JSON is valid in each locale: the key %s [1.1.21, 1.1.22]',
      async (_, behind) => {
        const { id: productId } = await licet.products.create({
          name: 'Guard',
          productType: 'OTHER',
        });
        const { licenseKey } = await licet.licenses.create({ productId, licenseType: 'PERMANENT' });
        const args = ['Shipped', url, `${licenseKey}${behind}`, String(productId), ...LOCALES];
        const env = { ...process.env, LC_ALL: 'C.UTF-8' };
        const { stdout } = spawnSync('java', args, { cwd: folder, env, encoding: 'utf8' });
        expect(stdout.match(/^\d{3} (?=\{)/gm), stdout).toEqual(Array(LOCALES.length).fill('200 '));
        // The first locales do have digits of their own.
        expect(stdout).toMatch(/"productId":[\u0660-\u0669]+,/);
        expect(stdout).toMatch(/"productId":[\u06f0-\u06f9]+,/);
      },
    );
  },
);
