import java.io.IOException;
import java.io.StringReader;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.*;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.*;
import java.util.regex.*;

/**
 * Asks Licet whether a license key may run here. Java 17 or newer, or Kotlin; no dependencies; see
 * README.md. The mark file is where the time of the last good answer is kept.
 */
public record Licet17(String url, int productId, String productVersion, String licenseKey, Path markFile,
    int timeoutSeconds, int retrySeconds, int graceHours) {

    public Licet17(String url, int productId, String productVersion, String licenseKey, Path markFile) {
        this(url, productId, productVersion, licenseKey, markFile, 10, 2, 72);
    }

    public enum State { VALID, GRACE, REFUSED, UNREACHABLE }

    /** The message is for the user to read. */
    public record Answer(State state, String message) {
        public boolean mayRun() {
            return state == State.VALID || state == State.GRACE;
        }
    }

    private record Reply(State state, String text, long pauseSeconds) {}

    private static final Pattern VERDICT = Pattern.compile("\"valid\"\\s*:\\s*(true|false)");
    private static final Pattern MESSAGE =
        Pattern.compile("\"message\"\\s*:\\s*\"([^\"\\\\]*(\\\\.[^\"\\\\]*)*)\"");

    /** Returns at once. The answer comes on another thread: let your server's scheduler take it over. */
    public CompletableFuture<Answer> check() {
        return CompletableFuture.supplyAsync(this::decide, task -> {
            var thread = new Thread(task, "licet");
            thread.setDaemon(true);
            thread.start();
        });
    }

    private Answer decide() {
        var hwid = hardwareId();
        var reply = ask(hwid);
        if (reply.state == State.UNREACHABLE && reply.pauseSeconds <= 10) {
            var pause = CompletableFuture.delayedExecutor(reply.pauseSeconds, TimeUnit.SECONDS);
            reply = CompletableFuture.supplyAsync(() -> ask(hwid), pause).join();
        }
        long now = System.currentTimeMillis() / 1000, leftSeconds = 0;
        try {
            if (reply.state == State.VALID) Files.writeString(markFile, mark(now, hwid));
            if (reply.state == State.REFUSED) Files.delete(markFile);
            var mark = Files.readString(markFile).trim();
            var time = Long.parseLong(mark.split(" ")[0]);
            if (mark.equals(mark(time, hwid))) leftSeconds = graceHours * 3600L - Math.abs(now - time);
        } catch (IOException | NumberFormatException noMark) {
            // Then there is no grace.
        }
        if (reply.state != State.UNREACHABLE) return new Answer(reply.state, reply.text);
        var problem = "The license service cannot be reached (" + reply.text + "). ";
        if (leftSeconds <= 0) {
            return new Answer(State.UNREACHABLE, problem + "Check the network connection and try again.");
        }
        var hours = (leftSeconds + 3599) / 3600;
        return new Answer(State.GRACE, problem + "The last good answer counts for " + hours + " h more.");
    }

    private Reply ask(String hwid) {
        var body = "{\"licenseKey\":" + json(licenseKey) + ",\"productId\":" + productId
            + ",\"hwid\":" + json(hwid) + ",\"productVersion\":" + json(productVersion)
            + ",\"operatingSystem\":" + json(System.getProperty("os.name"))
            + ",\"osVersion\":" + json(System.getProperty("os.version"))
            + ",\"osArchitecture\":" + json(System.getProperty("os.arch"))
            + ",\"javaVersion\":" + json(System.getProperty("java.version")) + "}";
        try {
            var http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(Math.min(5, timeoutSeconds))).build();
            var request = HttpRequest.newBuilder(URI.create(url + "/api/v1/validate"))
                .header("Content-Type", "application/json").header("User-Agent", "licet-client/1")
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
            // The request's own time-out ends where the body of the answer begins.
            var answer = http.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .get(timeoutSeconds, TimeUnit.SECONDS);
            var status = answer.statusCode();
            var verdict = VERDICT.matcher(answer.body());
            var message = MESSAGE.matcher(answer.body());
            if (answer.body().startsWith("{") && verdict.find() && message.find()) {
                var valid = verdict.group(1).equals("true");
                var said = unescape(message.group(1));
                if (valid && status == 200) return new Reply(State.VALID, said, 0);
                if (!valid && (status == 400 || status == 413)) {
                    return new Reply(State.REFUSED, "License refused: " + said, 0);
                }
            }
            var retryAfter = answer.headers().firstValue("Retry-After").filter(text -> text.matches("\\d{1,9}"));
            return new Reply(State.UNREACHABLE, "HTTP " + status,
                retryAfter.map(Integer::parseInt).orElse(retrySeconds));
        } catch (TimeoutException late) {
            return new Reply(State.UNREACHABLE, "time-out", retrySeconds);
        } catch (Exception failed) {
            var cause = failed.getCause() == null ? failed : failed.getCause();
            return new Reply(State.UNREACHABLE, cause.toString(), retrySeconds);
        }
    }

    /** Java's properties have the escapes of JSON. */
    private static String unescape(String text) throws IOException {
        var escaped = new Properties();
        escaped.load(new StringReader("text=" + text));
        return escaped.getProperty("text");
    }

    private static String json(String text) {
        var quoted = new StringBuilder("\"");
        for (var c : text.toCharArray()) {
            if (c == '"' || c == '\\') quoted.append('\\').append(c);
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
        try {
            var hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes("UTF-8"));
            return String.format("%064x", new BigInteger(1, hash));
        } catch (NoSuchAlgorithmException | IOException never) {
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
        var answer = new Licet17(url, Integer.parseInt(product), "1.0.0", key,
            Path.of(environment.getOrDefault("LICET_MARK", "licet.mark")),
            Integer.parseInt(environment.getOrDefault("LICET_TIMEOUT_SECONDS", "10")),
            Integer.parseInt(environment.getOrDefault("LICET_RETRY_SECONDS", "2")), 72).check().join();
        System.out.println(answer.message());
        System.exit(answer.mayRun() ? 0 : answer.state() == Licet17.State.REFUSED ? 1 : 2);
    }
}
