import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.math.BigInteger;
import java.net.*;
import java.nio.file.*;
import java.security.*;
import java.util.Properties;
import java.util.concurrent.*;
import java.util.regex.*;

/** Asks Licet whether a license key may run here. Java 8 or newer, no dependencies; see README.md. */
public final class Licet {
    public enum State { VALID, GRACE, REFUSED, UNREACHABLE }

    public static final class Answer {
        public final State state;
        /** For the user to read. */
        public final String message;
        private final int pauseSeconds;

        private Answer(State state, String message, int pauseSeconds) {
            this.state = state;
            this.message = message;
            this.pauseSeconds = pauseSeconds;
        }

        public boolean mayRun() {
            return state == State.VALID || state == State.GRACE;
        }
    }

    private static final Pattern VERDICT = Pattern.compile("\"valid\"\\s*:\\s*(true|false)");
    private static final Pattern MESSAGE = Pattern.compile("\"message\"\\s*:\\s*\"([^\"\\\\]*(\\\\.[^\"\\\\]*)*)\"");

    public int timeoutSeconds = 10, retrySeconds = 2, graceHours = 72;
    private final String url, productVersion, licenseKey;
    private final int productId;
    private final Path markFile;

    /** @param markFile where the time of the last good answer is kept */
    public Licet(String url, int productId, String productVersion, String licenseKey, Path markFile) {
        this.url = url;
        this.productId = productId;
        this.productVersion = productVersion;
        this.licenseKey = licenseKey;
        this.markFile = markFile;
    }

    /** Returns at once. The answer comes on another thread: let your server's scheduler take it over. */
    public CompletableFuture<Answer> check() {
        return inBackground(this::decide);
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

    private Answer decide() throws Exception {
        String hwid = hardwareId();
        Answer answer = askInTime(hwid);
        if (answer.state == State.UNREACHABLE && answer.pauseSeconds <= 10) {
            Thread.sleep(answer.pauseSeconds * 1000L);
            answer = askInTime(hwid);
        }
        long now = System.currentTimeMillis() / 1000, leftSeconds = 0;
        try {
            if (answer.state == State.VALID) Files.write(markFile, mark(now, hwid).getBytes(UTF_8));
            if (answer.state == State.REFUSED) Files.delete(markFile);
            String mark = new String(Files.readAllBytes(markFile), UTF_8).trim();
            long time = Long.parseLong(mark.split(" ")[0]);
            if (mark.equals(mark(time, hwid))) leftSeconds = graceHours * 3600L - Math.abs(now - time);
        } catch (IOException | NumberFormatException noMark) {
            // Then there is no grace.
        }
        if (answer.state != State.UNREACHABLE) return answer;
        String problem = "The license service cannot be reached (" + answer.message + "). ";
        if (leftSeconds <= 0) {
            return new Answer(State.UNREACHABLE, problem + "Check the network connection and try again.", 0);
        }
        long hours = (leftSeconds + 3599) / 3600;
        return new Answer(State.GRACE, problem + "The last good answer counts for " + hours + " h more.", 0);
    }

    private Answer askInTime(String hwid) throws InterruptedException {
        try {
            // The connection's own time-out begins anew with each byte that arrives.
            return inBackground(() -> ask(hwid)).get(timeoutSeconds, TimeUnit.SECONDS);
        } catch (TimeoutException late) {
            return new Answer(State.UNREACHABLE, "time-out", retrySeconds);
        } catch (ExecutionException failed) {
            return new Answer(State.UNREACHABLE, failed.getCause().toString(), retrySeconds);
        }
    }

    private Answer ask(String hwid) throws IOException {
        String body = "{\"licenseKey\":" + json(licenseKey) + ",\"productId\":" + productId
            + ",\"hwid\":" + json(hwid) + ",\"productVersion\":" + json(productVersion)
            + ",\"operatingSystem\":" + json(System.getProperty("os.name"))
            + ",\"osVersion\":" + json(System.getProperty("os.version"))
            + ",\"osArchitecture\":" + json(System.getProperty("os.arch"))
            + ",\"javaVersion\":" + json(System.getProperty("java.version")) + "}";
        HttpURLConnection http = (HttpURLConnection) new URL(url + "/api/v1/validate").openConnection();
        http.setInstanceFollowRedirects(false);
        http.setConnectTimeout(Math.min(5, timeoutSeconds) * 1000);
        http.setReadTimeout(timeoutSeconds * 1000);
        http.setRequestProperty("Content-Type", "application/json");
        http.setRequestProperty("User-Agent", "licet-client/1");
        http.setDoOutput(true);
        http.setFixedLengthStreamingMode(body.getBytes(UTF_8).length);
        http.getOutputStream().write(body.getBytes(UTF_8));
        int status = http.getResponseCode();
        String text = read(status < 400 ? http.getInputStream() : http.getErrorStream());
        Matcher verdict = VERDICT.matcher(text), message = MESSAGE.matcher(text);
        if (text.startsWith("{") && verdict.find() && message.find()) {
            boolean valid = verdict.group(1).equals("true");
            String said = unescape(message.group(1));
            if (valid && status == 200) return new Answer(State.VALID, said, 0);
            if (!valid && (status == 400 || status == 413)) {
                return new Answer(State.REFUSED, "License refused: " + said, 0);
            }
        }
        int pauseSeconds = Math.max(0, http.getHeaderFieldInt("Retry-After", retrySeconds));
        return new Answer(State.UNREACHABLE, "HTTP " + status, pauseSeconds);
    }

    private static String read(InputStream in) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        if (in == null) return "";
        byte[] part = new byte[4096];
        for (int size; (size = in.read(part)) >= 0 && text.size() < 65536; ) text.write(part, 0, size);
        return new String(text.toByteArray(), UTF_8);
    }

    /** Java's properties have the escapes of JSON. */
    private static String unescape(String text) throws IOException {
        Properties escaped = new Properties();
        escaped.load(new StringReader("text=" + text));
        return escaped.getProperty("text");
    }

    private static String json(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
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
        String host = System.getenv("COMPUTERNAME");
        if (host == null) host = lineOf("/etc/hostname");
        return sha256(lineOf("/etc/machine-id") + "\n" + host + "\n" + System.getProperty("user.name"));
    }

    private static String lineOf(String file) {
        try {
            return new String(Files.readAllBytes(Paths.get(file)), UTF_8).trim();
        } catch (IOException absent) {
            return "";
        }
    }

    private static String sha256(String text) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
            return String.format("%064x", new BigInteger(1, hash));
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
        licet.timeoutSeconds = Integer.parseInt(System.getenv().getOrDefault("LICET_TIMEOUT_SECONDS", "10"));
        licet.retrySeconds = Integer.parseInt(System.getenv().getOrDefault("LICET_RETRY_SECONDS", "2"));
        Licet.Answer answer = licet.check().get();
        System.out.println(answer.message);
        System.exit(answer.mayRun() ? 0 : answer.state == Licet.State.REFUSED ? 1 : 2);
    }
}
