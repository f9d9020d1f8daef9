import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.math.BigInteger;
import java.net.*;
import java.nio.file.*;
import java.security.*;
import java.security.spec.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import java.util.regex.*;

/** Asks Licet whether a license key may run here. Java 8 or newer, no dependencies; see README.md. */
public final class Licet {
    public enum State { VALID, GRACE, REFUSED, UNREACHABLE }

    public static final class Answer {
        public final State state;
        /** For the user to read. */
        public final String message;
        /** When to ask again, in seconds since 1970; 0 if the program may not run. */
        public final long checkAfter;
        private final Map<String, String> claims;
        private int pauseSeconds, status;
        private String lease = "";

        private Answer(State state, String message) {
            this(state, message, Collections.emptyMap());
        }

        private Answer(State state, String message, Map<String, String> claims) {
            this.state = state;
            this.message = message;
            this.claims = claims;
            this.checkAfter = mayRun() ? checkAfter(claims, now() + early(86400)) : 0;
        }

        /** The value as text, "true" for one without a value; null if the license has none. Needs public keys. */
        public String entitlement(String name) {
            String text = claims.getOrDefault("entitlements", "");
            // As it is written: within quotes, and without escapes.
            if (!text.matches("\"[^\"\\\\]*\"")) return null;
            for (String part : text.substring(1, text.length() - 1).split(" ")) {
                String[] pair = part.split("=", 2);
                if (part.matches("[^=]+(=.+)?") && pair[0].equals(name)) return pair.length == 2 ? pair[1] : "true";
            }
            return null;
        }

        public boolean mayRun() {
            return state == State.VALID || state == State.GRACE;
        }
    }

    private static final String TEXT = "\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"";
    private static final Pattern VERDICT = Pattern.compile("\"valid\"\\s*:\\s*(true|false)");
    private static final Pattern MESSAGE = Pattern.compile("\"message\"\\s*:\\s*(" + TEXT + ")");
    private static final Pattern SIGNED = Pattern.compile("\"signed\"\\s*:\\s*\"([^\"]*)\"");
    private static final Pattern LEASE = Pattern.compile("\"lease\"\\s*:\\s*\"([^\"]*)\"");
    private static final Pattern MEMBER =
        Pattern.compile("\\G[{,]\\s*\"(\\w+)\"\\s*:\\s*(" + TEXT + "|[\\w.+-]+)\\s*");

    public int timeoutSeconds = 10, retrySeconds = 2, graceHours = 72;
    /** KID:N of one or two RS256 keys, with a space between. With them only signed answers count. */
    public String publicKeys = "";
    /** In place of the id of the installation; README.md says when. */
    public String hwid = "";
    /** Gets each later answer, on a thread of its own: README.md shows a use. */
    public volatile Consumer<Answer> onAnswer = answer -> {};
    private volatile int starts;
    private final String url, productVersion, licenseKey;
    private final int productId;
    private final Path markFile;

    /** @param markFile where the time of the last good answer is kept; with public keys, the lease */
    public Licet(String url, int productId, String productVersion, String licenseKey, Path markFile) {
        this.url = url;
        this.productId = productId;
        this.productVersion = productVersion;
        this.licenseKey = licenseKey;
        this.markFile = markFile;
    }

    /**
     * Returns at once. The answer comes on another thread: let your server's scheduler take it over. Asks again from
     * time to time until {@link #close()}, if the program may run.
     *
     * @throws IllegalArgumentException if the url or a public key is none
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
        if (url == null || !url.matches("(?i)https?://.+")) {
            throw new IllegalArgumentException("'" + url + "' is no address of a service; url has the form https://license.example.com");
        }
        for (String key : publicKeys.split(" ", -1)) {
            if (publicKeys.isEmpty() || key.matches("[\\w.-]{1,64}:[\\w-]{342}")) continue;
            String form = "it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)";
            throw new IllegalArgumentException("'" + key + "' is no public key; " + form);
        }
        close();
        int start = starts;
        return inBackground(() -> {
            Answer lease = takesOver ? null : freshLease();
            Answer answer = lease == null ? decide(takesOver) : lease;
            long time = lease == null ? nextTime(answer) : 0;
            if (answer.mayRun()) inBackground(() -> askAgain(answer, time, start));
            return answer;
        });
    }

    private Void askAgain(Answer first, long firstTime, int start) throws InterruptedException {
        Answer answer = first;
        long time = firstTime;
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
        return null;
    }

    private static long nextTime(Answer answer) {
        boolean counts = answer.state == State.VALID && answer.checkAfter > now();
        return counts ? answer.checkAfter : now() + early(3600);
    }

    /** Returns at that time whether this start is still the last one. Looks each hour: a machine sleeps, a clock is set. */
    private synchronized boolean waits(long time, int start) throws InterruptedException {
        while (start == starts && now() < time) wait(Math.max(1, Math.min(3600, time - now())) * 1000);
        return start == starts;
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
        long time = time(claims, "checkAfter", otherwise);
        return Math.min(time, time(claims, "entitlementsUntil", time));
    }

    private static long time(Map<String, String> claims, String name, long otherwise) {
        String value = claims.getOrDefault(name, "");
        return value.matches("\\d{1,15}") ? Long.parseLong(value) : otherwise;
    }

    private static <T> CompletableFuture<T> inBackground(Callable<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable problem) {
                result.completeExceptionally(problem);
            }
        }, "licet");
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    /** Returns a valid answer by a lease that counts and is not past its time to ask again, or null. */
    private Answer freshLease() {
        if (publicKeys.isEmpty()) return null;
        try {
            String id = hwid.isEmpty() ? installationId(idFile()) : hwid;
            Map<String, String> lease = lease(null, now(), id);
            return lease.isEmpty() ? null : new Answer(State.VALID, "License is valid", lease);
        } catch (IOException | RuntimeException noLease) {
            return null;
        }
    }

    private Answer decide(boolean takesOver) throws Exception {
        if (licenseKey == null || licenseKey.trim().isEmpty()) {
            return new Answer(State.REFUSED, "License refused: no license key is set. "
                + "Enter the key from your purchase in the configuration, and start the program again.");
        }
        // A market writes the key into the file at each download. It did not replace this placeholder, or got no key.
        if (licenseKey.trim().matches("(?s)%%.+%%|Unable to acquire a license key.*")) {
            return new Answer(State.REFUSED, "This file has no license key: the shop has written none into it. "
                + "Download the file again. If that does not help, ask the seller of the program.");
        }
        if (!hwid.isEmpty()) return decide(hwid, takesOver);
        Path file = idFile();
        String problem = " does not hold the id of an installation. "
            + "Restore the file, or delete it: then this counts as a new installation.";
        try {
            String id = installationId(file);
            if (id.matches("[0-9a-f]{32}")) return decide(id, takesOver);
        } catch (IOException failed) {
            problem = " cannot be read or written: it keeps the id of this installation. "
                + "Check the permissions and the free space there.";
        }
        return new Answer(State.UNREACHABLE, file + problem);
    }

    private Path idFile() {
        return markFile.toAbsolutePath().resolveSibling("licet-id");
    }

    /** Reads the id of this installation; draws it at the first start. It survives updates and new containers. */
    private static String installationId(Path file) throws IOException {
        if (Files.notExists(file)) {
            String id = String.format("%032x", new BigInteger(1, draw()));
            Path draft = file.resolveSibling("licet-id." + id + ".tmp");
            Files.createDirectories(file.getParent());
            try {
                Files.write(draft, id.getBytes(UTF_8));
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
        return lineOf(file);
    }

    private static byte[] draw() {
        byte[] random = new byte[16];
        new SecureRandom().nextBytes(random);
        return random;
    }

    private Answer decide(String hwid, boolean takesOver) throws Exception {
        String nonce = base64url(draw());
        String[] keys = publicKeys.split(" ", -1);
        Answer answer = askInTime(hwid, nonce, keys[0], takesOver);
        if (answer.state == State.UNREACHABLE && answer.pauseSeconds <= 10) {
            Thread.sleep(answer.pauseSeconds * 1000L);
            // 400 may mean that the service no longer has the first key.
            answer = askInTime(hwid, nonce, keys[answer.status == 400 ? keys.length - 1 : 0], takesOver);
        }
        long now = now(), leftSeconds = 0;
        Map<String, String> lease = Collections.emptyMap();
        try {
            if (answer.state == State.REFUSED) Files.delete(markFile);
            if (!publicKeys.isEmpty()) {
                lease = lease(answer, now, hwid);
                leftSeconds = time(lease, "exp", now) - now;
            } else {
                if (answer.state == State.VALID) Files.write(markFile, mark(now, hwid).getBytes(UTF_8));
                String mark = lineOf(markFile);
                long time = Long.parseLong(mark.split(" ")[0]);
                if (mark.equals(mark(time, hwid))) leftSeconds = graceHours * 3600L - Math.abs(now - time);
            }
        } catch (IOException | RuntimeException noMark) {
            // Then there is no grace.
        }
        if (answer.state != State.UNREACHABLE) return answer;
        // The service signs responses of these statuses: no fault of the network.
        boolean isUnsigned = !publicKeys.isEmpty() && (answer.status == 200 || answer.status == 400);
        String problem = (isUnsigned ? "The response has no valid signature of this service ("
            : "The license service cannot be reached (") + answer.message + "). ";
        if (leftSeconds <= 0) {
            return new Answer(State.UNREACHABLE, problem + (isUnsigned
                ? "If this continues, ask the seller of the program."
                : "Check the network connection and try again."));
        }
        long hours = (leftSeconds + 3599) / 3600;
        return new Answer(State.GRACE, problem + "The last good answer counts for " + hours + " h more.", lease);
    }

    /**
     * Keeps the answer's lease, or the latest time seen. Returns the claims of a lease that counts, or none. Without an
     * answer, a lease counts until its time to ask again.
     */
    private Map<String, String> lease(Answer answer, long now, String hwid) {
        try {
            boolean isNew = answer != null && answer.state == State.VALID;
            String[] kept = (isNew ? answer.lease + " 0" : lineOf(markFile)).split(" ");
            Map<String, String> lease = verified(kept[0], "licet-lease+jwt", expected(hwid));
            long issued = Long.parseLong(lease.get("iat")), expires = Long.parseLong(lease.get("exp"));
            long seen = Math.max(issued, Long.parseLong(kept[1]));
            // The clock may be a day wrong: time zones differ that much.
            boolean counts = now >= seen - 86400 && now < expires && (answer != null || now < checkAfter(lease, 0));
            if (isNew || counts && now > seen) keepLease(kept[0], isNew ? issued : now);
            if (counts) return lease;
        } catch (IOException | RuntimeException noLease) {
            // Then none counts.
        }
        return Collections.emptyMap();
    }

    private void keepLease(String lease, long latest) {
        try {
            // Only its owner can read a temporary file.
            Path file = Files.createTempFile(markFile.toAbsolutePath().getParent(), "licet", ".tmp");
            try {
                Files.write(file, (lease + " " + latest).getBytes(UTF_8));
                Files.move(file, markFile, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (IOException notKept) {
            // Then the program does not start without the network.
        }
    }

    private Map<String, String> expected(String hwid) {
        Map<String, String> claims = new HashMap<>();
        claims.put("aud", json(String.valueOf(productId)));
        claims.put("sub", json(base64url(hash(licenseKey))));
        claims.put("hwid", json(hwid));
        return claims;
    }

    /** Returns the claims of a JWS that a pinned key signed and that has the type and the claims expected, or none. */
    private Map<String, String> verified(String jws, String typ, Map<String, String> expected) {
        try {
            String[] parts = jws.split("\\.", -1);
            Map<String, String> header = members(parts[0]);
            for (String key : publicKeys.split(" ", -1)) {
                String[] pinned = key.split(":", 2);
                // The pinned key decides about the algorithm, never the header.
                Map<String, String> own = new HashMap<>();
                own.put("alg", json("RS256"));
                own.put("kid", json(pinned[0]));
                own.put("typ", json(typ));
                if (parts.length != 3 || !header.equals(own)) continue;
                BigInteger modulus = new BigInteger(1, fromBase64url(pinned[1]));
                if (modulus.bitLength() != 2048) continue;
                Signature rsa = Signature.getInstance("SHA256withRSA");
                KeySpec publicKey = new RSAPublicKeySpec(modulus, RSAKeyGenParameterSpec.F4);
                rsa.initVerify(KeyFactory.getInstance("RSA").generatePublic(publicKey));
                rsa.update((parts[0] + "." + parts[1]).getBytes(UTF_8));
                // Java refuses signatures of other lengths, and compares the whole padding.
                if (!rsa.verify(fromBase64url(parts[2]))) continue;
                Map<String, String> claims = members(parts[1]);
                if (claims.entrySet().containsAll(expected.entrySet())) return claims;
            }
        } catch (GeneralSecurityException | RuntimeException forged) {
            // Then it does not count.
        }
        return Collections.emptyMap();
    }

    /** The members of a JSON object of texts, numbers and the like, as they are written. */
    private static Map<String, String> members(String part) {
        String object = new String(fromBase64url(part), UTF_8);
        Map<String, String> members = new HashMap<>();
        Matcher member = MEMBER.matcher(object);
        int end = 0;
        for (; member.find(); end = member.end()) members.put(member.group(1), member.group(2));
        if (!object.substring(end).equals("}")) throw new IllegalArgumentException("no flat object");
        return members;
    }

    private static String base64url(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] fromBase64url(String text) {
        byte[] bytes = Base64.getUrlDecoder().decode(text);
        // Java takes padding, and ignores the bits that are left over.
        if (!base64url(bytes).equals(text)) throw new IllegalArgumentException("no base64url");
        return bytes;
    }

    private Answer askInTime(String hwid, String nonce, String key, boolean takesOver) throws InterruptedException {
        String problem;
        try {
            // The connection's own time-out begins anew with each byte that arrives.
            return inBackground(() -> ask(hwid, nonce, key, takesOver)).get(timeoutSeconds, TimeUnit.SECONDS);
        } catch (TimeoutException late) {
            problem = "time-out";
        } catch (ExecutionException failed) {
            problem = failed.getCause().toString();
        }
        Answer answer = new Answer(State.UNREACHABLE, problem);
        answer.pauseSeconds = retrySeconds;
        return answer;
    }

    private Answer ask(String hwid, String nonce, String key, boolean takesOver) throws IOException {
        String body = "{\"licenseKey\":" + json(licenseKey) + ",\"productId\":" + productId
            + ",\"hwid\":" + json(hwid) + ",\"productVersion\":" + json(productVersion)
            + ",\"operatingSystem\":" + json(System.getProperty("os.name"))
            + ",\"osVersion\":" + json(System.getProperty("os.version"))
            + ",\"osArchitecture\":" + json(System.getProperty("os.arch"))
            + ",\"javaVersion\":" + json(System.getProperty("java.version"))
            + (takesOver ? ",\"takeOver\":true" : "")
            + (publicKeys.isEmpty() ? "" : ",\"nonce\":" + json(nonce)
                + ",\"kid\":" + json(key.split(":", 2)[0]) + ",\"lease\":true") + "}";
        HttpURLConnection http = (HttpURLConnection) new URL(url + "/api/v1/validate").openConnection();
        http.setInstanceFollowRedirects(false);
        http.setConnectTimeout(Math.min(5, timeoutSeconds) * 1000);
        http.setReadTimeout(timeoutSeconds * 1000);
        http.setRequestProperty("Content-Type", "application/json");
        http.setRequestProperty("User-Agent", "licet-client/2");
        http.setDoOutput(true);
        http.setFixedLengthStreamingMode(body.getBytes(UTF_8).length);
        http.getOutputStream().write(body.getBytes(UTF_8));
        int status = http.getResponseCode();
        String text = read(status < 400 ? http.getInputStream() : http.getErrorStream());
        Map<String, String> claims = publicKeys.isEmpty() ? unsigned(text, status) : signed(text, hwid, nonce);
        String valid = claims.getOrDefault("valid", ""), message = unquote(claims.getOrDefault("message", ""));
        Answer answer;
        if (valid.equals("true")) answer = new Answer(State.VALID, message, claims);
        else if (valid.equals("false")) answer = new Answer(State.REFUSED, "License refused: " + advise(message));
        else answer = new Answer(State.UNREACHABLE, "HTTP " + status);
        answer.pauseSeconds = Math.max(0, http.getHeaderFieldInt("Retry-After", retrySeconds));
        answer.status = status;
        answer.lease = first(LEASE, text);
        return answer;
    }

    private static Map<String, String> unsigned(String text, int status) {
        Matcher verdict = VERDICT.matcher(text), message = MESSAGE.matcher(text);
        Map<String, String> claims = new HashMap<>();
        if (!text.startsWith("{") || !verdict.find() || !message.find()) return claims;
        boolean isDecided = verdict.group(1).equals("true") ? status == 200 : status == 400 || status == 413;
        if (isDecided) claims.put("valid", verdict.group(1));
        claims.put("message", message.group(1));
        return claims;
    }

    private Map<String, String> signed(String text, String hwid, String nonce) {
        Map<String, String> expected = expected(hwid);
        expected.put("nonce", json(nonce));
        return verified(first(SIGNED, text), "licet-validation+jwt", expected);
    }

    /** A message of the service, and the buyer's next step after a refusal. */
    private static String advise(String message) {
        switch (message) {
            case "License not found or invalid":
                return message + ". Copy the key from your purchase again, and check that it is for this program.";
            case "License is deactivated":
                return message + ". Ask the seller of the program for the reason.";
            case "License has expired":
                return message + ". Renew it with the seller of the program, and start the program again.";
            case "Max IPs reached":
                return message + ". Other addresses use all its slots. Free one on your customer page, or ask the seller.";
            case "Max HWIDs reached":
                return message + ". Other machines use all its slots. Free one on your customer page, or ask the seller.";
            case "IP address is blacklisted":
            case "Hardware ID is blacklisted":
                return message + ". The seller of the program has blocked it. Ask the seller for the reason.";
            default:
                return message;
        }
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    private static String read(InputStream in) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        if (in == null) return "";
        byte[] part = new byte[4096];
        for (int size; (size = in.read(part)) >= 0 && text.size() < 65536; ) text.write(part, 0, size);
        return new String(text.toByteArray(), UTF_8);
    }

    /** The text that is within quotes. Java's properties have the escapes of JSON. */
    private static String unquote(String quoted) throws IOException {
        Properties escaped = new Properties();
        escaped.load(new StringReader("text=" + quoted.replaceAll("^\"|\"$", "")));
        return escaped.getProperty("text");
    }

    private static String json(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            int at = "\b\t\n\f\r\"\\".indexOf(c); // as the service escapes them
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
        String host = System.getenv("COMPUTERNAME");
        if (host == null) host = lineIfThere("/etc/hostname");
        return sha256(lineIfThere("/etc/machine-id") + "\n" + host + "\n" + System.getProperty("user.name"));
    }

    private static String lineIfThere(String file) {
        try {
            return lineOf(Paths.get(file));
        } catch (IOException absent) {
            return "";
        }
    }

    private static String lineOf(Path file) throws IOException {
        return new String(Files.readAllBytes(file), UTF_8).trim();
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
class Demo {
    public static void main(String[] args) throws Exception {
        String url = System.getenv("LICET_URL"), key = System.getenv("LICET_KEY");
        String product = System.getenv("LICET_PRODUCT_ID");
        if (url == null || key == null || product == null || !product.matches("\\d{1,9}")) {
            System.err.println("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.");
            System.exit(3);
        }
        Path mark = Paths.get(System.getenv().getOrDefault("LICET_MARK", "licet.mark"));
        Licet licet = new Licet(url, Integer.parseInt(product), "1.0.0", key, mark);
        licet.publicKeys = System.getenv().getOrDefault("LICET_PUBLIC_KEYS", "");
        licet.timeoutSeconds = Integer.parseInt(System.getenv().getOrDefault("LICET_TIMEOUT_SECONDS", "10"));
        licet.retrySeconds = Integer.parseInt(System.getenv().getOrDefault("LICET_RETRY_SECONDS", "2"));
        try {
            boolean moves = "1".equals(System.getenv("LICET_MOVE"));
            Licet.Answer answer = (moves ? licet.move() : licet.check()).get();
            System.out.println(answer.message);
            String name = System.getenv("LICET_ENTITLEMENT"), value = name == null ? null : answer.entitlement(name);
            if (name != null) System.out.println(value == null ? name : name + "=" + value);
            System.exit(answer.mayRun() ? 0 : answer.state == Licet.State.REFUSED ? 1 : 2);
        } catch (IllegalArgumentException wrong) {
            System.err.println(wrong.getMessage());
            System.exit(3);
        }
    }
}
