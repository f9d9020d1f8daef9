import type { Filling } from '../../console/src/screens/program/fill.ts';
import { LINES } from '../../console/src/screens/program/lines.ts';
import type { Algorithm } from './forged-responses.ts';

/**
 * Programs around the examples that validate many times in one process. Each reads lines of
 * `url|markFile|publicKeys|licenseKey|productId|timeoutSeconds|hwid|call|name`, and prints a line after each: the state
 * and the message, `checkAfter`, and the value of the entitlement of the name, if it has one. The parts have a `|` between
 * them, the last one also if it is empty. The call is `check` or `move`. The state of a public key that is none is `misuse`. The hwid `machine` stands
 * for the machine's own id, as the example makes it. The key `null` stands for a key that the configuration does not
 * have, and one of digits for a number, if the language can give either. If the language has a callback, it adds a line with the
 * state of each later answer to the file `MARKFILE.later`, and then fails, which ends nothing.
 */
export interface Driver {
  alg: Algorithm;
  /** Packages of the machine, and a command that fails without them. */
  needs?: { packages: string; command: string };
  /** The files to write beside the example. */
  files: () => Record<string, string>;
  /** Added to the command that builds the example. */
  builtWith?: string;
  /** A program of the lines that the console shows, behind a configuration with the key `KEY` or with none. */
  lines?: {
    file: string;
    config: { withKey: string; withoutKey: string };
    text: (values: Filling) => string;
    start: string;
  };
  /** Builds the driver, if it takes a command of its own. */
  build?: string;
  start: string;
  /** Whether it asks again by itself: while it runs, once beside a start, once when the process ends, or if it is told. */
  asksAgain: 'running' | 'once' | 'at its end' | 'if told';
  /** Its objects have a method that ends the asking. */
  canClose?: boolean;
  /** A validation takes most of a second, because it starts dozens of programs: some tests run in the long form only. */
  isSlow?: boolean;
}

/** Plugins of the console's lines, and as much of a game server as it sees. */
const plugin = (file: 'Licet.java' | 'Licet17.java'): string => `abstract class ServerPlugin {
    interface Config { String getString(String path); }
    interface Scheduler { void runTask(ServerPlugin plugin, Runnable task); }
    interface PluginManager { void disablePlugin(ServerPlugin plugin); }
    interface Server { Scheduler getScheduler(); PluginManager getPluginManager(); }
    abstract java.io.File getDataFolder();
    abstract Config getConfig();
    abstract Server getServer();
    abstract java.util.logging.Logger getLogger();
    public abstract void onEnable();
    public abstract void onDisable();
}
abstract class Plugin extends ServerPlugin {
${LINES[file](SAMPLE)}
}
abstract class UnsignedPlugin extends ServerPlugin {
${LINES[file](UNSIGNED)}
}
class PluginRun {
    /** Enables the plugin without a key. With the argument, the path of its mark file is null, too. */
    public static void main(String[] args) throws Exception {
        java.util.concurrent.CompletableFuture<String> disabled = new java.util.concurrent.CompletableFuture<>();
        java.util.logging.Logger logger = java.util.logging.Logger.getAnonymousLogger();
        logger.setUseParentHandlers(false);
        logger.addHandler(new java.util.logging.StreamHandler() {
            public void publish(java.util.logging.LogRecord record) {
                System.out.println(record.getMessage());
            }
        });
        new UnsignedPlugin() {
            java.io.File getDataFolder() {
                return new java.io.File("data") {
                    public java.nio.file.Path toPath() {
                        if (args.length == 0) return super.toPath();
                        return (java.nio.file.Path) java.lang.reflect.Proxy.newProxyInstance(
                            Plugin.class.getClassLoader(), new Class<?>[] { java.nio.file.Path.class }, (path, method, given) -> null);
                    }
                };
            }
            Config getConfig() {
                return path -> args.length == 0 ? null : "KEY";
            }
            Server getServer() {
                return new Server() {
                    public Scheduler getScheduler() {
                        return (plugin, task) -> task.run();
                    }
                    public PluginManager getPluginManager() {
                        return plugin -> disabled.complete("disabled");
                    }
                };
            }
            java.util.logging.Logger getLogger() {
                return logger;
            }
        }.onEnable();
        System.out.println(disabled.get(20, java.util.concurrent.TimeUnit.SECONDS));
    }
}`;

/**
 * The lines of compiled languages are compiled with a driver, in files and classes without an import of the test; the
 * others are run.
 */
const UNSIGNED = { url: 'http://localhost', productId: 602 };
const SAMPLE = { ...UNSIGNED, publicKeys: 'KID:KEY KID:KEY' };

/** @param check validates with the parts of a line, and prints */
const javaDriver = (file: 'Licet.java' | 'Licet17.java', check: string): Driver => ({
  alg: 'RS256',
  files: () => ({
    'Plugin.java': plugin(file),
    'Driver.java': `
import java.io.*;
import java.nio.file.*;
class Driver {
  static final java.util.Map<String, AutoCloseable> started = new java.util.HashMap<>();
  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      String[] part = line.split("[|]", -1);
      int product = Integer.parseInt(part[4]), timeout = Integer.parseInt(part[5]);
      String key = part[3].equals("null") ? null : part[3];
      try {
        ${check}
      } catch (IllegalArgumentException wrongKey) {
        System.out.println("misuse " + wrongKey.getMessage());
      }
    }
  }
  /** Ends the asking of the object before, of the same mark file. */
  static void closeBefore(String markFile, AutoCloseable licet) throws Exception {
    AutoCloseable before = started.put(markFile, licet);
    if (before != null) before.close();
  }
  static void later(String markFile, Object state) {
    try {
      Files.write(Paths.get(markFile + ".later"), (state.toString().toLowerCase() + "\\n").getBytes("UTF-8"),
        StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException problem) {
      problem.printStackTrace();
    }
    throw new IllegalStateException("The callback fails");
  }
  static void print(Object state, String message, long checkAfter, String value) {
    System.out.println(state.toString().toLowerCase() + " " + message + "|" + checkAfter + "|" + (value == null ? "" : value));
  }
}`,
  }),
  builtWith: 'Driver.java Plugin.java -nowarn -Xlint:-options',
  start: 'java Driver',
  asksAgain: 'running',
  canClose: true,
});

const nodeDriver = (file: 'licet.ts' | 'licet.mjs', driver: string): Driver => ({
  alg: 'ES256',
  files: () => ({
    [driver]: `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { checkLicense, hardwareId, moveLicense } from './${file}';
const misused = ({ message }) => ({ state: 'misuse', message, checkAfter: 0 });
for await (const line of createInterface(process.stdin)) {
  const [url, markFile, publicKeys, licenseKey, productId, timeoutSeconds, given, call, name] = line.split('|');
  const hwid = given === 'machine' ? hardwareId() : given;
  const number = /^\\d+$/.test(licenseKey) ? Number(licenseKey) : licenseKey;
  const key = licenseKey === 'null' ? null : number;
  const program = { url, markFile, publicKeys, licenseKey: key, productId: Number(productId), productVersion: '1', hwid };
  const times = { timeoutSeconds: Number(timeoutSeconds), retrySeconds: 0 };
  const onAnswer = async ({ state }) => {
    appendFileSync(markFile + '.later', state + '\\n');
    throw new Error('The callback fails');
  };
  const ask = call === 'move' ? moveLicense : checkLicense;
  const answer = await ask({ ...program, ...times, onAnswer }).catch(misused);
  const value = answer.entitlement?.(name) ?? '';
  console.log(answer.state + ' ' + answer.message + '|' + Math.floor(answer.checkAfter) + '|' + value);
}`,
  }),
  lines: {
    file: `lines-${driver}`,
    config: { withKey: "const config = { license: 'KEY' };", withoutKey: 'const config = {};' },
    text: LINES[file],
    start: `node lines-${driver}`,
  },
  start: `node ${driver}`,
  asksAgain: 'running',
});

export const drivers: Record<string, Driver> = {
  'licet.ts': nodeDriver('licet.ts', 'driver.ts'),
  'licet.mjs': nodeDriver('licet.mjs', 'driver.mjs'),
  'licet.php': {
    alg: 'RS256',
    needs: {
      packages: 'php-cli and php-curl',
      command: `php -r 'exit(extension_loaded("curl") && extension_loaded("openssl") ? 0 : 1);'`,
    },
    files: () => ({
      'driver.php': `<?php
declare(strict_types=1);
require 'licet.php';
while (($line = fgets(STDIN)) !== false) {
  [$url, $markFile, $publicKeys, $licenseKey, $productId, $timeout, $hwid, $call, $name] = explode('|', rtrim($line, "\\n"));
  $key = $licenseKey === 'null' ? null : (ctype_digit($licenseKey) ? (int) $licenseKey : $licenseKey);
  if ($hwid === 'machine') $hwid = Licet::hardwareId();
  try {
    $licet = new Licet($url, (int) $productId, '1', $key, $markFile, $publicKeys, (int) $timeout, 0, 72, $hwid);
    $answer = $call === 'move' ? $licet->move() : $licet->check();
    echo "$answer->state $answer->message|$answer->checkAfter|{$answer->entitlement($name)}\\n";
  } catch (InvalidArgumentException $wrongKey) {
    echo "misuse {$wrongKey->getMessage()}\\n";
  }
}`,
    }),
    lines: {
      file: 'lines.php',
      config: {
        withKey: "<?php $config = ['license' => 'KEY'];",
        withoutKey: '<?php declare(strict_types=1); $config = [];',
      },
      text: LINES['licet.php'],
      start: 'php lines.php',
    },
    // Else PHP ends a program that waits for a minute: its stdin is a socket.
    start: 'php -d default_socket_timeout=-1 driver.php',
    asksAgain: 'at its end',
  },
  'licet.py': {
    alg: 'RS256',
    files: () => ({
      'driver.py': `
import sys, licet
for line in sys.stdin:
    url, mark_file, public_keys, license_key, product, timeout, hwid, call, name = line.rstrip("\\n").split("|")
    key = None if license_key == "null" else int(license_key) if license_key.isdigit() else license_key
    def on_answer(answer, mark_file=mark_file):
        with open(mark_file + ".later", "a") as file:
            file.write(answer.state + "\\n")
        raise Exception("The callback fails")
    try:
        ask = licet.move_license if call == "move" else licet.check_license
        answer = ask(url, int(product), "1", key, mark_file, retry_seconds=0, timeout_seconds=int(timeout),
                     public_keys=public_keys, hwid=licet.hardware_id() if hwid == "machine" else hwid,
                     on_answer=on_answer)
        print(answer.state, f"{answer.message}|{int(answer.check_after)}|{answer.entitlement(name) or ''}", flush=True)
    except ValueError as problem:
        print("misuse", problem, flush=True)`,
    }),
    lines: {
      file: 'lines.py',
      config: { withKey: "config = {'license': 'KEY'}", withoutKey: 'config = {}' },
      text: LINES['licet.py'],
      start: 'python3 lines.py',
    },
    start: 'python3 driver.py',
    asksAgain: 'running',
  },
  'licet.lua': {
    alg: 'RS256',
    files: () => ({
      'driver.lua': `
local licet = require("licet")
licet.retry_seconds = 0
function licet.wait() end
for line in io.lines() do
  local url, mark_file, public_keys, license_key, product, timeout, hwid, call, name =
    line:match("(.*)|(.*)|(.*)|(.*)|(.*)|(.*)|(.*)|(.*)|(.*)")
  if license_key == "null" then license_key = nil end
  if license_key and license_key:match("^%d+$") then license_key = tonumber(license_key) end
  if hwid == "machine" then hwid = licet.hardware_id() end
  if hwid == "" then hwid = nil end
  licet.timeout_seconds = tonumber(timeout)
  local ok, state, message, answer = pcall(licet[call], { url = url, product_id = tonumber(product), product_version = "1",
    license_key = license_key, mark_file = mark_file, public_keys = public_keys, hwid = hwid })
  if ok then
    print(("%s %s|%d|%s"):format(state, message, answer.check_after // 1, answer.entitlement(name) or ""))
  else
    print("misuse", (state:gsub("^driver.lua:%d+: ", "")))
  end
  io.stdout:flush()
  if ok and answer.ask then answer.ask() end
end`,
    }),
    lines: {
      file: 'lines.lua',
      config: { withKey: "local config = { license = 'KEY' }", withoutKey: 'local config = {}' },
      text: LINES['licet.lua'],
      start: 'lua5.4 lines.lua',
    },
    start: 'lua5.4 driver.lua',
    asksAgain: 'if told',
  },
  'licet.sh': {
    alg: 'RS256',
    files: () => ({
      'driver.sh': `set -u
. ./licet.sh
licet_retry_seconds=0
sleep() { :; }
while IFS='|' read -r url file keys key product licet_timeout_seconds hwid call name; do
  [ "$key" != null ] || key=
  [ "$hwid" != machine ] || hwid=$(licet_hardware_id)
  licet_$call "$url" "$product" 1 "$key" "$file" "$keys" "$hwid" >"driver.$$"
  status=$? message=$(cat "driver.$$")
  case "$status $message" in
    0*" h more.") state=grace ;;
    0*) state=valid ;;
    1*) state=refused ;;
    3*) state=misuse ;;
    *) state=unreachable ;;
  esac
  printf '%s %s|%s|%s\\n' $state "$message" "$licet_check_after" "$(licet_entitlement "$name")"
done`,
    }),
    lines: {
      file: 'lines.sh',
      config: { withKey: 'license=KEY', withoutKey: 'set -u' },
      text: LINES['licet.sh'],
      start: 'sh lines.sh',
    },
    start: 'sh driver.sh',
    asksAgain: 'once',
    isSlow: true,
  },
  'Licet.java': javaDriver(
    'Licet.java',
    `Licet licet = new Licet(part[0], product, "1", key, Paths.get(part[1]));
      licet.publicKeys = part[2];
      licet.timeoutSeconds = timeout;
      licet.retrySeconds = 0;
      licet.hwid = part[6].equals("machine") ? Licet.hardwareId() : part[6];
      licet.onAnswer = later -> later(part[1], later.state);
      closeBefore(part[1], licet::close);
      if (part[7].equals("check twice")) licet.check().get();
      Licet.Answer answer = (part[7].equals("move") ? licet.move() : licet.check()).get();
      if (part[7].equals("check and close")) licet.close();
      print(answer.state, answer.message, answer.checkAfter, answer.entitlement(part[8]));`,
  ),
  'Licet17.java': javaDriver(
    'Licet17.java',
    `String hwid = part[6].equals("machine") ? Licet17.hardwareId() : part[6];
      Licet17 licet = new Licet17(part[0], product, "1", key, Paths.get(part[1]), part[2], hwid, timeout, 0, 72);
      licet.onAnswer = later -> later(part[1], later.state());
      closeBefore(part[1], licet::close);
      if (part[7].equals("check twice")) licet.check().get();
      Licet17.Answer answer = (part[7].equals("move") ? licet.move() : licet.check()).get();
      if (part[7].equals("check and close")) licet.close();
      print(answer.state(), answer.message(), answer.checkAfter(), answer.entitlement(part[8]));`,
  ),
  'Licet.cs': {
    alg: 'RS256',
    files: () => ({
      'Lines.cs': `static class Lines {
  static async System.Threading.Tasks.Task Signed(System.Collections.Generic.Dictionary<string, string> config) {
    ${LINES['Licet.cs'](SAMPLE)}
  }
  static async System.Threading.Tasks.Task Unsigned(System.Collections.Generic.Dictionary<string, string> config) {
    ${LINES['Licet.cs'](UNSIGNED)}
  }
}`,
      'Driver.cs': `
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
static class Driver {
  static readonly Dictionary<string, IDisposable> started = new Dictionary<string, IDisposable>();
  static void Main() {
    for (string line; (line = Console.ReadLine()) != null; ) {
      var part = line.Split('|');
      var licet = new Licet { Url = part[0], MarkFile = part[1], PublicKeys = part[2], LicenseKey = part[3] == "null" ? null : part[3],
        ProductId = int.Parse(part[4]), TimeoutSeconds = int.Parse(part[5]), ProductVersion = "1", RetrySeconds = 0,
        Hwid = part[6] == "machine" ? Licet.HardwareId() : part[6] };
      try {
        IDisposable before;
        if (started.TryGetValue(part[1], out before)) before.Dispose();
        started[part[1]] = licet;
        licet.OnAnswer = later => {
          System.IO.File.AppendAllText(part[1] + ".later", later.State.ToString().ToLower() + "\\n");
          throw new Exception("The callback fails");
        };
        if (part[7] == "check twice") licet.Check().Wait();
        var answer = (part[7] == "move" ? licet.Move() : licet.Check()).Result;
        if (part[7] == "check and close") licet.Dispose();
        Console.WriteLine(answer.State.ToString().ToLower() + " " + answer.Message + "|" + answer.CheckAfter + "|" + answer.Entitlement(part[8]));
      } catch (ArgumentException wrongKey) {
        Console.WriteLine("misuse " + wrongKey.Message);
      }
    }
  }
}`,
    }),
    build: 'mcs -r:System.Net.Http -r:Licet.exe Driver.cs Lines.cs',
    start: 'mono Driver.exe',
    asksAgain: 'running',
    canClose: true,
  },
  'licet.go': {
    alg: 'ES256',
    // The driver and the demo are one program, because linking takes most of the time. The driver runs first.
    files: () => ({
      'signed.go': LINES['licet.go'](SAMPLE),
      'unsigned.go': LINES['licet.go'](UNSIGNED).replace(
        'requireLicense',
        'requireUnsignedLicense',
      ),
      'driver.go': `
package main
import ("bufio"; "fmt"; "os"; "strconv"; "strings")
func init() {
  if os.Getenv("LICET_DRIVER") == "" {
    return
  }
  lines := bufio.NewScanner(os.Stdin)
  for lines.Scan() {
    answerLine(lines.Text())
  }
  os.Exit(0)
}
func answerLine(line string) {
    defer func() {
      if wrongKey := recover(); wrongKey != nil {
        fmt.Println("misuse", wrongKey)
      }
    }()
    part := strings.Split(line, "|")
    product, _ := strconv.Atoi(part[4])
    timeout, _ := strconv.Atoi(part[5])
    key, hwid := part[3], part[6]
    if key == "null" {
      key = ""
    }
    if hwid == "machine" {
      hwid = HardwareID()
    }
    program := Program{URL: part[0], ProductID: product, ProductVersion: "1", MarkFile: part[1],
      PublicKeys: part[2], LicenseKey: key, TimeoutSeconds: timeout, GraceHours: 72, HWID: hwid}
    states := []string{"valid", "grace", "refused", "unreachable"}
    program.OnAnswer = func(answer Answer) {
      later, _ := os.OpenFile(part[1]+".later", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0600)
      fmt.Fprintln(later, states[answer.State])
      later.Close()
      panic("The callback fails")
    }
    check := program.Check
    if part[7] == "move" {
      check = program.Move
    }
    answer := check()
    value, _ := answer.Entitlement(part[8])
    fmt.Printf("%s %s|%d|%s\\n", states[answer.State], answer.Message, answer.CheckAfter, value)
}
`,
    }),
    builtWith: 'driver.go signed.go unsigned.go',
    start: 'env LICET_DRIVER=1 ./licet',
    asksAgain: 'running',
  },
};
