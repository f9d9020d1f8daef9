import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.StringReader;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.*;
import java.security.spec.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import java.util.regex.*;

/**
 * Asks Licet whether a license key may run here. Java 17 or newer, or Kotlin; no dependencies; see
 * README.md. The mark file is where the time of the last good answer is kept; with public keys, the lease. Public
 * keys are KID:N of one or two RS256 keys, with a space between: with them only signed answers count. A url or a
 * public key that is none throws an IllegalArgumentException. The hwid takes the place of the id of the installation, where
 * README.md says so.
 */
public final class Licet17 {
    /** Gets each later answer, on a thread of its own: README.md shows a use. */
    public volatile Consumer<Answer> onAnswer = answer -> {};
    private volatile int starts;
    private final String url, productVersion, licenseKey, publicKeys, hwid;
    private final int productId, timeoutSeconds, retrySeconds, graceHours;
    private final Path markFile;

    public Licet17(String url, int productId, String productVersion, String licenseKey, Path markFile,
        String publicKeys, String hwid, int timeoutSeconds, int retrySeconds, int graceHours) {
        if (url == null || !url.matches("(?i)https?://.+")) {
            throw new IllegalArgumentException("'" + url + "' is no address of a service; url has the form https://license.example.com");
        }
        for (var key : publicKeys.split(" ", -1)) {
            if (publicKeys.isEmpty() || key.matches("[\\w.-]{1,64}:[\\w-]{342}")) continue;
            var form = "it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)";
            throw new IllegalArgumentException("'" + key + "' is no public key; " + form);
        }
        this.url = url;
        this.productId = productId;
        this.productVersion = productVersion;
        this.licenseKey = licenseKey;
        this.markFile = markFile;
        this.publicKeys = publicKeys;
        this.hwid = hwid;
        this.timeoutSeconds = timeoutSeconds;
        this.retrySeconds = retrySeconds;
        this.graceHours = graceHours;
    }

    public Licet17(String url, int productId, String productVersion, String licenseKey, Path markFile) {
        this(url, productId, productVersion, licenseKey, markFile, "");
    }

    public Licet17(String url, int productId, String productVersion, String licenseKey, Path markFile,
        String publicKeys) {
        this(url, productId, productVersion, licenseKey, markFile, publicKeys, "", 10, 2, 72);
    }

    public enum State { VALID, GRACE, REFUSED, UNREACHABLE }

    /**
     * The message is for the user to read. checkAfter is when to ask again, in seconds since 1970; 0 if the program may
     * not run. The entitlements are what the license allows; they are in signed answers and leases only.
     */
    public record Answer(State state, String message, long checkAfter, Map<String, String> entitlements) {
        public Answer {
            entitlements = Collections.unmodifiableMap(entitlements);
        }

        public boolean mayRun() {
            return state == State.VALID || state == State.GRACE;
        }

        /** The value as text, "true" for one without a value; null if the license has none. Needs public keys. */
        public String entitlement(String name) {
            return entitlements.get(name);
        }
    }

    private record Reply(State state, String text, long pauseSeconds, int status, String lease,
        Map<String, String> claims) {}

    private static final String TEXT = "\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"";
    private static final Pattern VERDICT = Pattern.compile("\"valid\"\\s*:\\s*(true|false)");
    private static final Pattern MESSAGE = Pattern.compile("\"message\"\\s*:\\s*(" + TEXT + ")");
    private static final Pattern SIGNED = Pattern.compile("\"signed\"\\s*:\\s*\"([^\"]*)\"");
    private static final Pattern LEASE = Pattern.compile("\"lease\"\\s*:\\s*\"([^\"]*)\"");
    private static final Pattern MEMBER =
        Pattern.compile("\\G[{,]\\s*\"(\\w+)\"\\s*:\\s*(" + TEXT + "|[\\w.+-]+)\\s*");

    /** The buyer's next step after a refusal, by the message of the service. */
    private static final Map<String, String> ADVICE = Map.of(
        "License not found or invalid",
        "Copy the key from your purchase again, and check that it is for this program.",
        "License is deactivated",
        "Ask the seller of the program for the reason.",
        "License has expired",
        "Renew it with the seller of the program, and start the program again.",
        "Max IPs reached",
        "Other addresses use all its slots. Free one on your customer page, or ask the seller.",
        "Max HWIDs reached",
        "Other machines use all its slots. Free one on your customer page, or ask the seller.",
        "IP address is blacklisted",
        "The seller of the program has blocked it. Ask the seller for the reason.",
        "Hardware ID is blacklisted",
        "The seller of the program has blocked it. Ask the seller for the reason.");

    /**
     * Returns at once. The answer comes on another thread: let your server's scheduler take it over. Asks again from
     * time to time until {@link #close()}, if the program may run.
     */
    public CompletableFuture<Answer> check() {
        return start(false);
    }

    /** Checks, and moves the license here if no slot is free. Only for a command of a person; README.md says more. */
    public CompletableFuture<Answer> move() {
        return start(true);
    }

    /** Ends the asking from time to time: a plugin calls it in onDisable. */
    public synchronized void close() {
        starts++;
        notifyAll();
    }

    private synchronized CompletableFuture<Answer> start(boolean takesOver) {
        close();
        var start = starts;
        return CompletableFuture.supplyAsync(() -> {
            var lease = takesOver ? null : freshLease();
            var answer = lease == null ? decide(takesOver) : lease;
            if (answer.mayRun()) inBackground(() -> askAgain(answer, lease == null ? nextTime(answer) : 0, start));
            return answer;
        }, Licet17::inBackground);
    }

    private static void inBackground(Runnable task) {
        var thread = new Thread(task, "licet");
        thread.setDaemon(true);
        thread.start();
    }

    private void askAgain(Answer first, long firstTime, int start) {
        var answer = first;
        var time = firstTime;
        while (answer.state != State.REFUSED && waits(time, start)) {
            try {
                answer = decide(false);
                if (start == starts) onAnswer.accept(answer);
            } catch (Throwable problem) {
                // A fault of onAnswer is shown, and does not end the asking.
                Thread.currentThread().getThreadGroup().uncaughtException(Thread.currentThread(), problem);
            }
            time = nextTime(answer);
        }
    }

    private static long nextTime(Answer answer) {
        var counts = answer.state == State.VALID && answer.checkAfter > now();
        return counts ? answer.checkAfter : now() + early(3600);
    }

    /** Returns at that time whether this start is still the last one. Looks each hour: a machine sleeps, a clock is set. */
    private synchronized boolean waits(long time, int start) {
        try {
            while (start == starts && now() < time) wait(Math.max(1, Math.min(3600, time - now())) * 1000);
            return start == starts;
        } catch (InterruptedException ended) {
            return false;
        }
    }

    /** Less a random part of up to a tenth, so that not all installations ask at once. */
    private static long early(long seconds) {
        return seconds - (long) (Math.random() * seconds / 10);
    }

    private static long now() {
        return System.currentTimeMillis() / 1000;
    }

    /** The earlier one of both claims. */
    private static long checkAfter(Map<String, String> claims, long otherwise) {
        var time = time(claims, "checkAfter", otherwise);
        return Math.min(time, time(claims, "entitlementsUntil", time));
    }

    private static long time(Map<String, String> claims, String name, long otherwise) {
        var value = claims.getOrDefault(name, "");
        return value.matches("\\d{1,15}") ? Long.parseLong(value) : otherwise;
    }

    /** An answer that lets the program run, by the claims of a response or a lease. */
    private static Answer good(State state, String message, Map<String, String> claims) {
        var entitlements = new HashMap<String, String>();
        var text = claims.getOrDefault("entitlements", "");
        // As it is written: within quotes, and without escapes.
        if (text.matches("\"[^\"\\\\]*\"")) {
            for (var part : text.substring(1, text.length() - 1).split(" ")) {
                var pair = part.split("=", 2);
                if (part.matches("[^=]+(=.+)?")) entitlements.putIfAbsent(pair[0], pair.length == 2 ? pair[1] : "true");
            }
        }
        return new Answer(state, message, checkAfter(claims, now() + early(86400)), entitlements);
    }

    private static Answer bad(State state, String message) {
        return new Answer(state, message, 0, Collections.emptyMap());
    }

    /** Returns a valid answer by a lease that counts and is not past its time to ask again, or null. */
    private Answer freshLease() {
        if (publicKeys.isEmpty()) return null;
        try {
            var id = hwid.isEmpty() ? installationId(idFile()) : hwid;
            var lease = lease(null, now(), id);
            return lease.isEmpty() ? null : good(State.VALID, "License is valid", lease);
        } catch (IOException | RuntimeException noLease) {
            return null;
        }
    }

    private Answer decide(boolean takesOver) {
        if (licenseKey == null || licenseKey.isBlank()) {
            return bad(State.REFUSED, "License refused: no license key is set. "
                + "Enter the key from your purchase in the configuration, and start the program again.");
        }
        // A market writes the key into the file at each download. It did not replace this placeholder, or got no key.
        if (licenseKey.strip().matches("(?s)%%.+%%|Unable to acquire a license key.*")) {
            return bad(State.REFUSED, "This file has no license key: the shop has written none into it. "
                + "Download the file again. If that does not help, ask the seller of the program.");
        }
        if (!hwid.isEmpty()) return decide(hwid, takesOver);
        var file = idFile();
        var problem = " does not hold the id of an installation. "
            + "Restore the file, or delete it: then this counts as a new installation.";
        try {
            var id = installationId(file);
            if (id.matches("[0-9a-f]{32}")) return decide(id, takesOver);
        } catch (IOException failed) {
            problem = " cannot be read or written: it keeps the id of this installation. "
                + "Check the permissions and the free space there.";
        }
        return bad(State.UNREACHABLE, file + problem);
    }

    private Path idFile() {
        return markFile.toAbsolutePath().resolveSibling("licet-id");
    }

    /** Reads the id of this installation; draws it at the first start. It survives updates and new containers. */
    private static String installationId(Path file) throws IOException {
        if (Files.notExists(file)) {
            var id = String.format("%032x", new BigInteger(1, draw()));
            var draft = file.resolveSibling("licet-id." + id + ".tmp");
            Files.createDirectories(file.getParent());
            try {
                Files.writeString(draft, id);
                // Unlike a rename, a link never replaces the id of another process.
                Files.createLink(file, draft);
            } catch (FileAlreadyExistsException another) {
                // Another process was first.
            } catch (FileSystemException | UnsupportedOperationException noLinks) {
                Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(draft);
            }
        }
        return new String(Files.readAllBytes(file), UTF_8).strip();
    }

    private static byte[] draw() {
        var random = new byte[16];
        new SecureRandom().nextBytes(random);
        return random;
    }

    private Answer decide(String hwid, boolean takesOver) {
        var nonce = base64url(draw());
        var keys = publicKeys.split(" ", -1);
        var first = ask(hwid, nonce, keys[0], takesOver);
        var reply = first;
        if (first.state == State.UNREACHABLE && first.pauseSeconds <= 10) {
            var pause = CompletableFuture.delayedExecutor(first.pauseSeconds, TimeUnit.SECONDS);
            // 400 may mean that the service no longer has the first key.
            var key = keys[first.status == 400 ? keys.length - 1 : 0];
            reply = CompletableFuture.supplyAsync(() -> ask(hwid, nonce, key, takesOver), pause).join();
        }
        long now = now(), leftSeconds = 0;
        Map<String, String> lease = Map.of();
        try {
            if (reply.state == State.REFUSED) Files.delete(markFile);
            if (!publicKeys.isEmpty()) {
                lease = lease(reply, now, hwid);
                leftSeconds = time(lease, "exp", now) - now;
            } else {
                if (reply.state == State.VALID) Files.writeString(markFile, mark(now, hwid));
                var mark = Files.readString(markFile).trim();
                var time = Long.parseLong(mark.split(" ")[0]);
                if (mark.equals(mark(time, hwid))) leftSeconds = graceHours * 3600L - Math.abs(now - time);
            }
        } catch (IOException | RuntimeException noMark) {
            // Then there is no grace.
        }
        if (reply.state == State.VALID) return good(State.VALID, reply.text, reply.claims);
        if (reply.state == State.REFUSED) return bad(State.REFUSED, reply.text);
        // The service signs responses of these statuses: no fault of the network.
        var isUnsigned = !publicKeys.isEmpty() && (reply.status == 200 || reply.status == 400);
        var problem = (isUnsigned ? "The response has no valid signature of this service ("
            : "The license service cannot be reached (") + reply.text + "). ";
        if (leftSeconds <= 0) {
            return bad(State.UNREACHABLE, problem + (isUnsigned
                ? "If this continues, ask the seller of the program."
                : "Check the network connection and try again."));
        }
        var hours = (leftSeconds + 3599) / 3600;
        return good(State.GRACE, problem + "The last good answer counts for " + hours + " h more.", lease);
    }

    /**
     * Keeps the reply's lease, or the latest time seen. Returns the claims of a lease that counts, or none. Without a
     * reply, a lease counts until its time to ask again.
     */
    private Map<String, String> lease(Reply reply, long now, String hwid) {
        try {
            var isNew = reply != null && reply.state == State.VALID;
            var kept = (isNew ? reply.lease + " 0" : Files.readString(markFile).trim()).split(" ");
            var lease = verified(kept[0], "licet-lease+jwt", expected(hwid));
            long issued = Long.parseLong(lease.get("iat")), expires = Long.parseLong(lease.get("exp"));
            var seen = Math.max(issued, Long.parseLong(kept[1]));
            // The clock may be a day wrong: time zones differ that much.
            var counts = now >= seen - 86400 && now < expires && (reply != null || now < checkAfter(lease, 0));
            if (isNew || counts && now > seen) keepLease(kept[0], isNew ? issued : now);
            if (counts) return lease;
        } catch (IOException | RuntimeException noLease) {
            // Then none counts.
        }
        return Map.of();
    }

    private void keepLease(String lease, long latest) {
        try {
            // Only its owner can read a temporary file.
            var file = Files.createTempFile(markFile.toAbsolutePath().getParent(), "licet", ".tmp");
            try {
                Files.writeString(file, lease + " " + latest);
                Files.move(file, markFile, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (IOException notKept) {
            // Then the program does not start without the network.
        }
    }

    private Map<String, String> expected(String hwid) {
        var sub = base64url(hash(licenseKey));
        return Map.of("aud", json(String.valueOf(productId)), "sub", json(sub), "hwid", json(hwid));
    }

    /** Returns the claims of a JWS that a pinned key signed and that has the type and the claims expected, or none. */
    private Map<String, String> verified(String jws, String typ, Map<String, String> expected) {
        try {
            var parts = jws.split("\\.", -1);
            var header = members(parts[0]);
            for (var key : publicKeys.split(" ", -1)) {
                var pinned = key.split(":", 2);
                // The pinned key decides about the algorithm, never the header.
                var own = Map.of("alg", json("RS256"), "kid", json(pinned[0]), "typ", json(typ));
                if (parts.length != 3 || !header.equals(own)) continue;
                var modulus = new BigInteger(1, fromBase64url(pinned[1]));
                if (modulus.bitLength() != 2048) continue;
                var rsa = Signature.getInstance("SHA256withRSA");
                var publicKey = new RSAPublicKeySpec(modulus, RSAKeyGenParameterSpec.F4);
                rsa.initVerify(KeyFactory.getInstance("RSA").generatePublic(publicKey));
                rsa.update((parts[0] + "." + parts[1]).getBytes(UTF_8));
                // Java refuses signatures of other lengths, and compares the whole padding.
                if (!rsa.verify(fromBase64url(parts[2]))) continue;
                var claims = members(parts[1]);
                if (claims.entrySet().containsAll(expected.entrySet())) return claims;
            }
        } catch (GeneralSecurityException | RuntimeException forged) {
            // Then it does not count.
        }
        return Map.of();
    }

    /** The members of a JSON object of texts, numbers and the like, as they are written. */
    private static Map<String, String> members(String part) {
        var object = new String(fromBase64url(part), UTF_8);
        var members = new HashMap<String, String>();
        var member = MEMBER.matcher(object);
        var end = 0;
        for (; member.find(); end = member.end()) members.put(member.group(1), member.group(2));
        if (!object.substring(end).equals("}")) throw new IllegalArgumentException("no flat object");
        return members;
    }

    private static String base64url(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] fromBase64url(String text) {
        var bytes = Base64.getUrlDecoder().decode(text);
        // Java takes padding, and ignores the bits that are left over.
        if (!base64url(bytes).equals(text)) throw new IllegalArgumentException("no base64url");
        return bytes;
    }

    private Reply ask(String hwid, String nonce, String key, boolean takesOver) {
        var body = "{\"licenseKey\":" + json(licenseKey) + ",\"productId\":" + productId
            + ",\"hwid\":" + json(hwid) + ",\"productVersion\":" + json(productVersion)
            + ",\"operatingSystem\":" + json(System.getProperty("os.name"))
            + ",\"osVersion\":" + json(System.getProperty("os.version"))
            + ",\"osArchitecture\":" + json(System.getProperty("os.arch"))
            + ",\"javaVersion\":" + json(System.getProperty("java.version"))
            + (takesOver ? ",\"takeOver\":true" : "")
            + (publicKeys.isEmpty() ? "" : ",\"nonce\":" + json(nonce)
                + ",\"kid\":" + json(key.split(":", 2)[0]) + ",\"lease\":true") + "}";
        try {
            var http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(Math.min(5, timeoutSeconds))).build();
            var request = HttpRequest.newBuilder(URI.create(url + "/api/v1/validate"))
                .header("Content-Type", "application/json").header("User-Agent", "licet-client/2")
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
            // The request's own time-out ends where the body of the answer begins.
            var answer = http.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .get(timeoutSeconds, TimeUnit.SECONDS);
            var status = answer.statusCode();
            var text = answer.body();
            var claims = publicKeys.isEmpty() ? unsigned(text, status) : signed(text, hwid, nonce);
            var message = unquote(claims.getOrDefault("message", ""));
            switch (claims.getOrDefault("valid", "")) {
                case "true": return new Reply(State.VALID, message, 0, status, first(LEASE, text), claims);
                case "false":
                    return new Reply(State.REFUSED, "License refused: " + advise(message), 0, status, "", claims);
                default: // cannot be reached
            }
            var retryAfter = answer.headers().firstValue("Retry-After").filter(value -> value.matches("\\d{1,9}"));
            return new Reply(State.UNREACHABLE, "HTTP " + status,
                retryAfter.map(Integer::parseInt).orElse(retrySeconds), status, "", claims);
        } catch (TimeoutException late) {
            return new Reply(State.UNREACHABLE, "time-out", retrySeconds, 0, "", Map.of());
        } catch (Exception failed) {
            var cause = failed.getCause() == null ? failed : failed.getCause();
            return new Reply(State.UNREACHABLE, cause.toString(), retrySeconds, 0, "", Map.of());
        }
    }

    private static Map<String, String> unsigned(String text, int status) {
        var verdict = VERDICT.matcher(text);
        var message = MESSAGE.matcher(text);
        if (!text.startsWith("{") || !verdict.find() || !message.find()) return Map.of();
        var isDecided = verdict.group(1).equals("true") ? status == 200 : status == 400 || status == 413;
        return isDecided ? Map.of("valid", verdict.group(1), "message", message.group(1)) : Map.of();
    }

    private Map<String, String> signed(String text, String hwid, String nonce) {
        var expected = new HashMap<>(expected(hwid));
        expected.put("nonce", json(nonce));
        return verified(first(SIGNED, text), "licet-validation+jwt", expected);
    }

    /** A message of the service, and the buyer's next step. */
    private static String advise(String message) {
        var advice = ADVICE.get(message);
        return advice == null ? message : message + ". " + advice;
    }

    private static String first(Pattern pattern, String text) {
        var matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    /** The text that is within quotes. Java's properties have the escapes of JSON. */
    private static String unquote(String quoted) throws IOException {
        var escaped = new Properties();
        escaped.load(new StringReader("text=" + quoted.replaceAll("^\"|\"$", "")));
        return escaped.getProperty("text");
    }

    private static String json(String text) {
        var quoted = new StringBuilder("\"");
        for (var c : text.toCharArray()) {
            var at = "\b\t\n\f\r\"\\".indexOf(c); // as the service escapes them
            if (at >= 0) quoted.append('\\').append("btnfr\"\\".charAt(at));
            else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
            else quoted.append(c);
        }
        return quoted.append('"').toString();
    }

    private String mark(long time, String hwid) {
        return time + " " + sha256(time + "\n" + licenseKey + "\n" + productId + "\n" + hwid);
    }

    public static String hardwareId() {
        // Java itself asks the DNS for the host name, and that may be away when it matters.
        var host = System.getenv("COMPUTERNAME");
        if (host == null) host = lineOf("/etc/hostname");
        return sha256(lineOf("/etc/machine-id") + "\n" + host + "\n" + System.getProperty("user.name"));
    }

    private static String lineOf(String file) {
        try {
            return Files.readString(Path.of(file)).trim();
        } catch (IOException absent) {
            return "";
        }
    }

    private static String sha256(String text) {
        return String.format("%064x", new BigInteger(1, hash(text)));
    }

    private static byte[] hash(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
        } catch (NoSuchAlgorithmException never) {
            throw new IllegalStateException(never);
        }
    }
}

/** Tries it out; no part of your program. */
class Demo17 {
    public static void main(String[] args) {
        String url = System.getenv("LICET_URL"), key = System.getenv("LICET_KEY");
        var product = System.getenv("LICET_PRODUCT_ID");
        if (url == null || key == null || product == null || !product.matches("\\d{1,9}")) {
            System.err.println("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.");
            System.exit(3);
        }
        var environment = System.getenv();
        try {
            var licet = new Licet17(url, Integer.parseInt(product), "1.0.0", key,
                Path.of(environment.getOrDefault("LICET_MARK", "licet.mark")),
                environment.getOrDefault("LICET_PUBLIC_KEYS", ""), "",
                Integer.parseInt(environment.getOrDefault("LICET_TIMEOUT_SECONDS", "10")),
                Integer.parseInt(environment.getOrDefault("LICET_RETRY_SECONDS", "2")), 72);
            var answer = ("1".equals(environment.get("LICET_MOVE")) ? licet.move() : licet.check()).join();
            System.out.println(answer.message());
            var name = environment.get("LICET_ENTITLEMENT");
            if (name != null) {
                var value = answer.entitlement(name);
                System.out.println(value == null ? name : name + "=" + value);
            }
            System.exit(answer.mayRun() ? 0 : answer.state() == Licet17.State.REFUSED ? 1 : 2);
        } catch (IllegalArgumentException wrong) {
            System.err.println(wrong.getMessage());
            System.exit(3);
        }
    }
}
