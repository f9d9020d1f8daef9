<?php
/** Asks Licet whether a license key may run here. PHP 8.0 or newer with curl and openssl; see README.md. */

final class LicetAnswer
{
    /**
     * @param string $state 'valid', 'grace', 'refused' or 'unreachable'
     * @param string $message for the user to read
     * @param int $checkAfter seconds since 1970: then it is time to ask again. 0 if the program may not run
     */
    public function __construct(
        public string $state,
        public string $message,
        public int $checkAfter = 0,
        private string $entitlements = '',
    ) {
    }

    /** The value as text, 'true' for one without a value; null if the license has none. Needs public keys. */
    public function entitlement(string $name): ?string
    {
        foreach (explode(' ', $this->entitlements) as $part) {
            [$own, $value] = explode('=', $part, 2) + ['', 'true'];
            if ($own === $name && $name !== '' && $value !== '') return $value;
        }
        return null;
    }

    public function mayRun(): bool
    {
        return $this->state === 'valid' || $this->state === 'grace';
    }
}

final class Licet
{
    // RSA, 2048 bits; the modulus goes between them. Behind it: the exponent 65537.
    private const BEFORE_MODULUS = '30820122300d06092a864886f70d01010105000382010f003082010a0282010100';
    private const AFTER_MODULUS = '0203010001';

    // The buyer's next step after a refusal, by the message of the service.
    private const ADVICE = [
        'License not found or invalid' =>
            'Copy the key from your purchase again, and check that it is for this program.',
        'License is deactivated' =>
            'Ask the seller of the program for the reason.',
        'License has expired' =>
            'Renew it with the seller of the program, and start the program again.',
        'Max IPs reached' =>
            'Other addresses use all its slots. Free one on your customer page, or ask the seller.',
        'Max HWIDs reached' =>
            'Other machines use all its slots. Free one on your customer page, or ask the seller.',
        'IP address is blacklisted' =>
            'The seller of the program has blocked it. Ask the seller for the reason.',
        'Hardware ID is blacklisted' =>
            'The seller of the program has blocked it. Ask the seller for the reason.',
    ];

    private string $licenseKey;

    /**
     * @param string|int|float|null $licenseKey as the customer's configuration has it
     * @param string $markFile where the time of the last good answer is kept; with public keys, the lease
     * @param string $publicKeys KID:N of one or two RS256 keys, with a space between. With them only signed answers
     *     count.
     * @param string $hwid in place of the id of the installation; README.md says when
     * @throws InvalidArgumentException if the url or a public key is none
     */
    public function __construct(
        private string $url,
        private int $productId,
        private string $productVersion,
        string|int|float|null $licenseKey,
        private string $markFile,
        private string $publicKeys = '',
        private int $timeoutSeconds = 10,
        private int $retrySeconds = 2,
        private int $graceHours = 72,
        private string $hwid = '',
    ) {
        // As it is sent: bytes that are no UTF-8 are replaced.
        $this->licenseKey = json_decode(json_encode((string) $licenseKey, JSON_INVALID_UTF8_SUBSTITUTE));
        if (!preg_match('~^https?://.~i', $url)) {
            throw new InvalidArgumentException("'$url' is no address of a service; url has the form https://license.example.com");
        }
        foreach ($publicKeys === '' ? [] : explode(' ', $publicKeys) as $key) {
            if (preg_match('/^[\w.-]{1,64}:[\w-]{342}$/D', $key)) continue;
            $form = 'it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)';
            throw new InvalidArgumentException("'$key' is no public key; $form");
        }
    }

    /**
     * Takes up to 30 seconds without a lease: then never call it while a visitor waits for a page. With a lease, it
     * asks at most once an hour, when the script has ended.
     */
    public function check(): LicetAnswer
    {
        return $this->start(false);
    }

    /** Moves the license to this machine. Only for the command of a person. */
    public function move(): LicetAnswer
    {
        return $this->start(true);
    }

    private function start(bool $takesOver): LicetAnswer
    {
        if (trim($this->licenseKey) === '') {
            $advice = 'Enter the key from your purchase in the configuration, and start the program again.';
            return new LicetAnswer('refused', "License refused: no license key is set. $advice");
        }
        $idFile = dirname($this->markFile) . '/licet-id';
        $hwid = $this->hwid !== '' ? $this->hwid : self::installationId($idFile);
        if ($hwid === null) {
            $problem = 'cannot be read or written: it keeps the id of this installation.';
            $advice = 'Check the permissions and the free space there.';
            return new LicetAnswer('unreachable', "$idFile $problem $advice");
        }
        if ($this->hwid === '' && !preg_match('/^[0-9a-f]{32}$/D', $hwid)) {
            $advice = 'Restore the file, or delete it: then this counts as a new installation.';
            return new LicetAnswer('unreachable', "$idFile does not hold the id of an installation. $advice");
        }
        if ($this->publicKeys === '' || $takesOver) return $this->askFirst($hwid, $takesOver);
        [$leftSeconds, $lease, $isNewTime] = $this->kept(time(), $hwid, true);
        if ($leftSeconds <= 0) return $this->askFirst($hwid);
        if (self::checkAfter($lease, 0) <= time()) {
            return $this->grace('The license service was not reached.', $leftSeconds, $lease);
        }
        if ($isNewTime) $this->askBeside($hwid);
        return $this->running('valid', 'License is valid', $lease);
    }

    /** Asks when the script has ended, and the visitor has the page. */
    private function askBeside(string $hwid): void
    {
        $ask = function () use ($hwid): void {
            // Else the visitor's next page waits for the session.
            if (session_status() === PHP_SESSION_ACTIVE) session_write_close();
            if (function_exists('fastcgi_finish_request')) fastcgi_finish_request();
            $this->askFirst($hwid);
        };
        // Behind the functions of the program, which may still print.
        register_shutdown_function(fn () => register_shutdown_function($ask));
    }

    private function askFirst(string $hwid, bool $takesOver = false): LicetAnswer
    {
        $nonce = self::base64url(random_bytes(16));
        $kids = array_map(fn ($key) => explode(':', $key)[0], explode(' ', $this->publicKeys));
        $reply = $this->ask($hwid, $nonce, $kids[0], $takesOver);
        if ($reply['valid'] === null && $reply['pauseSeconds'] <= 10) {
            sleep($reply['pauseSeconds']);
            // 400 may mean that the service no longer has the first key.
            $reply = $this->ask($hwid, $nonce, $reply['status'] === 400 ? end($kids) : $kids[0], $takesOver);
        }
        $now = time();
        if ($reply['valid'] === true) {
            if ($this->publicKeys === '') {
                @file_put_contents($this->markFile, $this->mark((string) $now, $hwid));
            } elseif ($lease = $this->lease($reply['lease'], $hwid)) {
                $this->keepLease($reply['lease'], $lease['iat']);
            }
            return $this->running('valid', $reply['text'], $reply['claims']);
        }
        if ($reply['valid'] === false) {
            @unlink($this->markFile);
            $advice = self::ADVICE[$reply['text']] ?? null;
            $message = $reply['text'] . ($advice === null ? '' : ". $advice");
            return new LicetAnswer('refused', "License refused: $message");
        }
        $problem = "The license service cannot be reached ({$reply['text']}).";
        $advice = 'Check the network connection and try again.';
        // The service signs responses of these statuses: no fault of the network.
        if ($this->publicKeys !== '' && in_array($reply['status'], [200, 400], true)) {
            $problem = "The response has no valid signature of this service ({$reply['text']}).";
            $advice = 'If this continues, ask the seller of the program.';
        }
        [$leftSeconds, $lease] = $this->publicKeys === '' ? [$this->markSeconds($now, $hwid), []] : $this->kept($now, $hwid, false);
        return $leftSeconds > 0
            ? $this->grace($problem, $leftSeconds, $lease)
            : new LicetAnswer('unreachable', "$problem $advice");
    }

    private function grace(string $problem, int $leftSeconds, array $lease): LicetAnswer
    {
        $hours = (int) ceil($leftSeconds / 3600);
        return $this->running('grace', "$problem The last good answer counts for $hours h more.", $lease);
    }

    /** The answer of a program that may run. Claims that nobody signed do not count. */
    private function running(string $state, string $message, array $claims): LicetAnswer
    {
        if ($this->publicKeys === '') $claims = [];
        $text = $claims['entitlements'] ?? '';
        // Earlier by up to a tenth, so that programs that started together do not ask together.
        $checkAfter = self::checkAfter($claims, time() + 86400 - random_int(0, 8640));
        return new LicetAnswer($state, $message, $checkAfter, is_string($text) ? $text : '');
    }

    /** The earlier time of the claims. Without a time to check: as given. */
    private static function checkAfter(array $claims, int $otherwise): int
    {
        $at = is_int($claims['checkAfter'] ?? null) ? $claims['checkAfter'] : $otherwise;
        return is_int($claims['entitlementsUntil'] ?? null) ? min($at, $claims['entitlementsUntil']) : $at;
    }

    private function markSeconds(int $now, string $hwid): int
    {
        $mark = self::read($this->markFile);
        $seconds = explode(' ', $mark)[0];
        return $mark !== '' && $mark === $this->mark($seconds, $hwid)
            ? $this->graceHours * 3600 - abs($now - (int) $seconds)
            : 0;
    }

    /**
     * For how long the lease counts: at a start, only until it is time to check. Its claims. Whether this was kept as the
     * latest time seen: at starts once an hour, because a web site starts often.
     */
    private function kept(int $now, string $hwid, bool $isStart): array
    {
        [$jws, $latest] = explode(' ', self::read($this->markFile), 2) + ['', ''];
        $lease = $this->lease($jws, $hwid);
        if (!$lease || !is_int($lease['exp'] ?? null) || !ctype_digit($latest)) return [0, [], false];
        $seen = max($lease['iat'], (int) $latest);
        // The clock may be a day wrong: time zones differ that much.
        $left = $now >= $seen - 86400 ? $lease['exp'] - $now : 0;
        $checkAfter = self::checkAfter($lease, 0);
        // Asked in vain within the hour: else each page would wait for a service that is away.
        $wasAsked = $checkAfter > 0 && $seen >= $checkAfter && abs($now - $seen) < 3600;
        if ($isStart && $checkAfter <= $now && !$wasAsked) $left = 0;
        $isNewTime = $left > 0 && $now - $seen >= ($isStart ? 3600 : 1);
        if ($isNewTime) $this->keepLease($jws, $now);
        return [$left, $lease, $isNewTime];
    }

    private function keepLease(string $lease, int $latest): void
    {
        $file = "$this->markFile.tmp";
        $umask = umask(077);
        // If this fails, the program does not start without the network.
        if (@file_put_contents($file, "$lease $latest") !== false) @rename($file, $this->markFile);
        umask($umask);
    }

    /** The claims of a lease that fits, or nothing. */
    private function lease(mixed $jws, string $hwid): ?array
    {
        $lease = $this->verified($jws, 'licet-lease+jwt', $this->expected($hwid));
        return is_int($lease['iat'] ?? null) ? $lease : null;
    }

    private function expected(string $hwid): array
    {
        $sub = self::base64url(hash('sha256', $this->licenseKey, true));
        return ['aud' => (string) $this->productId, 'sub' => $sub, 'hwid' => $hwid];
    }

    /** The claims of a JWS that a pinned key signed and that has the type and the claims expected, or nothing. */
    private function verified(mixed $jws, string $typ, array $expected): ?array
    {
        $parts = is_string($jws) ? explode('.', $jws) : [];
        if (count($parts) !== 3) return null;
        [$header, $payload, $signature] = array_map([self::class, 'fromBase64url'], $parts);
        $said = json_decode((string) $header, true);
        $claims = json_decode((string) $payload, true);
        if (!is_array($said) || !is_array($claims) || $signature === null) return null;
        ksort($said);
        foreach (explode(' ', $this->publicKeys) as $key) {
            [$kid, $modulus] = explode(':', $key);
            // The pinned key decides about the algorithm, never the header.
            if ($said !== ['alg' => 'RS256', 'kid' => $kid, 'typ' => $typ]) continue;
            $n = self::fromBase64url($modulus);
            if ($n === null || strlen($n) !== 256 || ord($n[0]) < 128) return null;
            $der = hex2bin(self::BEFORE_MODULUS) . $n . hex2bin(self::AFTER_MODULUS);
            $pem = "-----BEGIN PUBLIC KEY-----\n" . chunk_split(base64_encode($der)) . '-----END PUBLIC KEY-----';
            // OpenSSL refuses signatures of other lengths, and compares the whole padding.
            if (openssl_verify("$parts[0].$parts[1]", $signature, $pem, OPENSSL_ALGO_SHA256) !== 1) return null;
            foreach ($expected as $name => $value) {
                if (($claims[$name] ?? null) !== $value) return null;
            }
            return $claims;
        }
        return null;
    }

    private static function base64url(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }

    private static function fromBase64url(string $text): ?string
    {
        $bytes = base64_decode(strtr($text, '-_', '+/'));
        // PHP ignores characters that are not base64, and bits that are left over.
        return self::base64url($bytes) === $text ? $bytes : null;
    }

    /** Where the service cannot be reached, `valid` is null, and `text` is the reason. */
    private function ask(string $hwid, string $nonce, string $kid, bool $takesOver): array
    {
        $fields = [
            'licenseKey' => $this->licenseKey,
            'productId' => $this->productId,
            'hwid' => $hwid,
            'productVersion' => $this->productVersion,
            'operatingSystem' => PHP_OS_FAMILY,
            'osVersion' => php_uname('r'),
            'osArchitecture' => php_uname('m'),
        ];
        if ($this->publicKeys !== '') $fields += ['nonce' => $nonce, 'kid' => $kid, 'lease' => true];
        if ($takesOver) $fields['takeOver'] = true;
        $pauseSeconds = $this->retrySeconds;
        $http = curl_init("$this->url/api/v1/validate");
        curl_setopt_array($http, [
            CURLOPT_POSTFIELDS => json_encode($fields, JSON_INVALID_UTF8_SUBSTITUTE),
            CURLOPT_HTTPHEADER => ['Content-Type: application/json'],
            CURLOPT_USERAGENT => 'licet-client/2',
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_CONNECTTIMEOUT => min(5, $this->timeoutSeconds),
            CURLOPT_TIMEOUT => $this->timeoutSeconds,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$pauseSeconds): int {
                if (preg_match('/^retry-after: *(\d{1,9})\s*$/i', $line, $found)) $pauseSeconds = (int) $found[1];
                return strlen($line);
            },
        ]);
        $text = curl_exec($http);
        $status = curl_getinfo($http, CURLINFO_RESPONSE_CODE);
        $reply = ['valid' => null, 'status' => $status, 'pauseSeconds' => $pauseSeconds, 'lease' => null, 'claims' => []];
        if ($text === false) return ['text' => curl_error($http), 'status' => 0] + $reply;
        $said = json_decode($text, true);
        $said = is_array($said) ? $said : [];
        if ($this->publicKeys !== '') {
            $expected = $this->expected($hwid) + ['nonce' => $nonce];
            $believed = $this->verified($said['signed'] ?? null, 'licet-validation+jwt', $expected) ?? [];
        } else {
            $decided = ($said['valid'] ?? null) === true ? [200] : [400, 413];
            $believed = in_array($status, $decided, true) ? $said : [];
        }
        $valid = $believed['valid'] ?? null;
        if ($valid !== true && $valid !== false) return ['text' => "HTTP $status"] + $reply;
        $message = $believed['message'] ?? '';
        $text = is_string($message) ? $message : '';
        return ['valid' => $valid, 'text' => $text, 'lease' => $said['lease'] ?? null, 'claims' => $believed] + $reply;
    }

    private function mark(string $seconds, string $hwid): string
    {
        $lines = [$seconds, $this->licenseKey, $this->productId, $hwid];
        return "$seconds " . hash('sha256', implode("\n", $lines));
    }

    public static function hardwareId(): string
    {
        $user = function_exists('posix_getpwuid') ? posix_getpwuid(posix_geteuid()) : false;
        $name = $user ? $user['name'] : (getenv('USERNAME') ?: '');
        return hash('sha256', implode("\n", [self::read('/etc/machine-id'), gethostname(), $name]));
    }

    /** Reads the id of this installation; draws it at the first start. It survives updates and new containers. */
    private static function installationId(string $file): ?string
    {
        if (!file_exists($file)) {
            $id = bin2hex(random_bytes(16));
            $draft = "$file.$id.tmp";
            // Unlike a rename, a link never replaces the id of another process. Some file systems have none.
            if (@file_put_contents($draft, $id) !== false && !@link($draft, $file) && !file_exists($file)) {
                @rename($draft, $file);
            }
            @unlink($draft);
        }
        $text = is_file($file) ? @file_get_contents($file) : false;
        return $text === false ? null : trim($text);
    }

    private static function read(string $file): string
    {
        return trim((string) @file_get_contents($file));
    }
}

// From here on it is tried out; no part of your program, which reads this file by require.
if (realpath($_SERVER['SCRIPT_FILENAME'] ?? '') !== __FILE__) return;
$read = fn ($name, $default = '') => getenv($name) === false ? $default : getenv($name);
$url = $read('LICET_URL');
$productId = $read('LICET_PRODUCT_ID');
$licenseKey = $read('LICET_KEY');
if ($url === '' || !ctype_digit($productId) || $licenseKey === '') {
    fwrite(STDERR, "Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.\n");
    exit(3);
}
try {
    $licet = new Licet(
        $url,
        (int) $productId,
        '1.0.0',
        $licenseKey,
        $read('LICET_MARK', 'licet.mark'),
        $read('LICET_PUBLIC_KEYS'),
        (int) $read('LICET_TIMEOUT_SECONDS', '10'),
        (int) $read('LICET_RETRY_SECONDS', '2'),
    );
} catch (InvalidArgumentException $wrong) {
    fwrite(STDERR, "{$wrong->getMessage()}\n");
    exit(3);
}
$answer = $read('LICET_MOVE') === '1' ? $licet->move() : $licet->check();
echo $answer->message, "\n";
if ($wanted = $read('LICET_ENTITLEMENT')) {
    $value = $answer->entitlement($wanted);
    echo $value === null ? $wanted : "$wanted=$value", "\n";
}
exit($answer->mayRun() ? 0 : ($answer->state === 'refused' ? 1 : 2));
