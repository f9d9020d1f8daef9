// Asks Licet whether a license key may run here. Go 1.18 or newer, no dependencies; see README.md.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

type Program struct {
	URL            string
	ProductID      int
	ProductVersion string
	LicenseKey     string
	MarkFile       string // where the time of the last good answer is kept; with public keys, the lease
	TimeoutSeconds int
	RetrySeconds   int
	GraceHours     int
	PublicKeys     string       // KID:X.Y of one or two ES256 keys, with a space between: only signed answers count then
	HWID           string       // in place of the id of the installation; README.md says when
	OnAnswer       func(Answer) // gets each later answer, in a goroutine of its own; README.md shows a use
}

type State int

const (
	Valid State = iota
	Grace
	Refused
	Unreachable
)

type Answer struct {
	State   State
	Message string // for the user to read
	// CheckAfter is when to ask again, in seconds since 1970; 0 if the program may not run.
	CheckAfter   int64
	entitlements string
}

func (answer Answer) MayRun() bool { return answer.State == Valid || answer.State == Grace }

// Entitlement returns the value, "true" for one without a value, and whether the license has it. Needs public keys.
func (answer Answer) Entitlement(name string) (string, bool) {
	for _, part := range strings.Split(answer.entitlements, " ") {
		own, value, hasValue := strings.Cut(part, "=")
		if !hasValue {
			value = "true"
		}
		if own == name && name != "" && value != "" {
			return value, true
		}
	}
	return "", false
}

// good is an answer that lets the program run, by the claims of a response or a lease.
func good(state State, message string, claims claims) Answer {
	entitlements, _ := claims["entitlements"].(string)
	return Answer{state, message, claims.checkAfter(time.Now().Unix() + early(86400)), entitlements}
}

// advices are the buyer's next steps after a refusal, by the message of the service.
var advices = map[string]string{
	"License not found or invalid": "Copy the key from your purchase again, and check that it is for this program.",
	"License is deactivated":       "Ask the seller of the program for the reason.",
	"License has expired":          "Renew it with the seller of the program, and start the program again.",
	"Max IPs reached":              "Other addresses use all its slots. Free one on your customer page, or ask the seller.",
	"Max HWIDs reached":            "Other machines use all its slots. Free one on your customer page, or ask the seller.",
	"IP address is blacklisted":    "The seller of the program has blocked it. Ask the seller for the reason.",
	"Hardware ID is blacklisted":   "The seller of the program has blocked it. Ask the seller for the reason.",
}

// reply is what the service said, and after how many seconds to ask again where it cannot be reached.
type reply struct {
	Answer
	pauseSeconds int
	status       int
	lease        any
	claims       claims
}

// claims are those of a JWS, or of the whole body where answers are not signed.
type claims map[string]any

// seconds returns a time, and whether it is one.
func (claims claims) seconds(name string) (int64, bool) {
	time, ok := claims[name].(float64)
	ok = ok && time >= 0 && time < 1e15
	return int64(time), ok
}

// checkAfter returns the earlier one of both claims.
func (claims claims) checkAfter(otherwise int64) int64 {
	after, ok := claims.seconds("checkAfter")
	if !ok {
		after = otherwise
	}
	if until, ok := claims.seconds("entitlementsUntil"); ok && until < after {
		return until
	}
	return after
}

var idForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

var urlForm = regexp.MustCompile(`(?i)^https?://.`)

var keyForm = regexp.MustCompile(`^[\w.-]{1,64}:[\w-]{43}\.[\w-]{43}$`)

// CheckForm returns an error if the URL or a public key is none.
func (program Program) CheckForm() error {
	if !urlForm.MatchString(program.URL) {
		return fmt.Errorf("'%s' is no address of a service; url has the form https://license.example.com", program.URL)
	}
	for _, key := range strings.Split(program.PublicKeys, " ") {
		if program.PublicKeys != "" && !keyForm.MatchString(key) {
			const form = "it has the form KID:KEY, where KEY is 43 characters, a dot and 43 characters (ES256, the es- key)"
			return fmt.Errorf("'%s' is no public key; %s", key, form)
		}
	}
	return nil
}

// asking has the last start of each program, by its mark file.
var asking sync.Map

// Check takes up to 30 seconds: call it in a goroutine where something else has to go on. It panics if the URL
// or a public key is none. If the program may run, a goroutine asks again from time to time.
func (program Program) Check() Answer { return program.start(false) }

// Move checks, and moves the license here if no slot is free. Only for a command of a person; README.md says more.
func (program Program) Move() Answer { return program.start(true) }

func (program Program) start(takesOver bool) Answer {
	if err := program.CheckForm(); err != nil {
		panic(err)
	}
	program.LicenseKey = strings.ToValidUTF8(program.LicenseKey, "\uFFFD") // as it is sent
	if strings.TrimSpace(program.LicenseKey) == "" {
		return Answer{State: Refused, Message: "License refused: no license key is set. " +
			"Enter the key from your purchase in the configuration, and start the program again."}
	}
	hwid := program.HWID
	if hwid == "" {
		file := filepath.Join(filepath.Dir(program.MarkFile), "licet-id")
		id, err := installationID(file)
		if err != nil {
			return Answer{State: Unreachable, Message: file + " cannot be read or written: it keeps the id of this " +
				"installation. Check the permissions and the free space there."}
		}
		if !idForm.MatchString(id) {
			return Answer{State: Unreachable, Message: file + " does not hold the id of an installation. " +
				"Restore the file, or delete it: then this counts as a new installation."}
		}
		hwid = id
	}
	start := new(int)
	asking.Store(program.MarkFile, start)
	isLast := func() bool {
		last, _ := asking.Load(program.MarkFile)
		return last == start
	}
	if !takesOver && program.PublicKeys != "" {
		if lease := program.keptLease(hwid, true); lease != nil {
			go program.askAgain(hwid, 0, isLast)
			return good(Valid, "License is valid", lease)
		}
	}
	answer := program.decide(hwid, takesOver)
	if answer.MayRun() {
		go program.askAgain(hwid, answer.nextTime(), isLast)
	}
	return answer
}

func (program Program) askAgain(hwid string, next int64, isLast func() bool) {
	for {
		// Looks each hour: a machine sleeps, a clock is set.
		for left := next - time.Now().Unix(); left > 0; left = next - time.Now().Unix() {
			time.Sleep(time.Duration(math.Min(float64(left), 3600)) * time.Second)
		}
		if !isLast() {
			return
		}
		answer := program.decide(hwid, false)
		if isLast() {
			program.tell(answer)
		}
		if answer.State == Refused {
			return
		}
		next = answer.nextTime()
	}
}

// tell calls OnAnswer: a panic in it is shown, and does not end the asking.
func (program Program) tell(answer Answer) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintln(os.Stderr, "OnAnswer:", problem)
		}
	}()
	if program.OnAnswer != nil {
		program.OnAnswer(answer)
	}
}

func (answer Answer) nextTime() int64 {
	if now := time.Now().Unix(); answer.State != Valid || answer.CheckAfter <= now {
		return now + early(3600)
	}
	return answer.CheckAfter
}

// early takes off a random part of up to a tenth, so that not all installations ask at once.
func early(seconds int64) int64 {
	part, err := rand.Int(rand.Reader, big.NewInt(seconds/10+1))
	if err != nil {
		return seconds
	}
	return seconds - part.Int64()
}

func (program Program) decide(hwid string, takesOver bool) Answer {
	random, err := draw()
	if err != nil {
		return Answer{State: Unreachable, Message: err.Error()}
	}
	nonce := base64url(random)
	keys := strings.Split(program.PublicKeys, " ")
	answer := program.ask(hwid, nonce, keys[0], takesOver)
	if answer.State == Unreachable && answer.pauseSeconds <= 10 {
		time.Sleep(time.Duration(answer.pauseSeconds) * time.Second)
		key := keys[0]
		if answer.status == 400 { // the service may no longer have the first key
			key = keys[len(keys)-1]
		}
		answer = program.ask(hwid, nonce, key, takesOver)
	}
	now := time.Now().Unix()
	switch answer.State {
	case Valid:
		if program.PublicKeys == "" {
			_ = os.WriteFile(program.MarkFile, []byte(program.mark(now, hwid)), 0o600)
		} else if issued, ok := program.lease(answer.lease, hwid).seconds("iat"); ok {
			program.keepLease(answer.lease, issued)
		}
		return good(Valid, answer.Message, answer.claims)
	case Refused:
		_ = os.Remove(program.MarkFile)
		return answer.Answer
	}
	problem := "The license service cannot be reached (" + answer.Message + ")."
	advice := "Check the network connection and try again."
	// The service signs responses of these statuses: no fault of the network.
	if program.PublicKeys != "" && (answer.status == 200 || answer.status == 400) {
		problem = "The response has no valid signature of this service (" + answer.Message + ")."
		advice = "If this continues, ask the seller of the program."
	}
	left := 0.0 // hours
	var lease claims
	if program.PublicKeys == "" {
		mark, _ := os.ReadFile(program.MarkFile)
		time, _, _ := strings.Cut(strings.TrimSpace(string(mark)), " ")
		seconds, _ := strconv.ParseInt(time, 10, 64)
		if strings.TrimSpace(string(mark)) == program.mark(seconds, hwid) {
			left = float64(program.GraceHours) - math.Abs(float64(now-seconds))/3600
		}
	} else if lease = program.keptLease(hwid, false); lease != nil {
		expires, _ := lease.seconds("exp")
		left = float64(expires-now) / 3600
	}
	if left > 0 {
		return good(Grace, fmt.Sprintf("%s The last good answer counts for %.0f h more.", problem, math.Ceil(left)), lease)
	}
	return Answer{State: Unreachable, Message: problem + " " + advice}
}

// installationID reads the id of this installation; it draws one at the first start. It survives updates and new
// containers.
func installationID(file string) (string, error) {
	if _, err := os.Stat(file); os.IsNotExist(err) {
		random, err := draw()
		if err != nil {
			return "", err
		}
		id := fmt.Sprintf("%x", random)
		draft := file + "." + id + ".tmp"
		defer os.Remove(draft)
		if err := os.WriteFile(draft, []byte(id), 0o644); err != nil {
			return "", err
		}
		// Unlike a rename, a link never replaces the id of another process. Some file systems have none.
		if err := os.Link(draft, file); err != nil && !os.IsExist(err) {
			_ = os.Rename(draft, file)
		}
	}
	content, err := os.ReadFile(file)
	return strings.TrimSpace(string(content)), err
}

// draw returns 128 bits that nobody can guess.
func draw() ([]byte, error) {
	random := make([]byte, 16)
	_, err := rand.Read(random)
	return random, err
}

func (program Program) lease(jws any, hwid string) claims {
	return program.verified(jws, "licet-lease+jwt", program.expected(hwid))
}

// keptLease returns the claims of the lease in the file if it counts, and keeps the latest time seen. At the start, a
// lease counts until its time to ask again.
func (program Program) keptLease(hwid string, isStart bool) claims {
	content, _ := os.ReadFile(program.MarkFile)
	jws, latest, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
	lease := program.lease(jws, hwid)
	issued, ok := lease.seconds("iat")
	expires, _ := lease.seconds("exp")
	seen, err := strconv.ParseInt(latest, 10, 64)
	if issued > seen {
		seen = issued
	}
	now := time.Now().Unix()
	// The clock may be a day wrong: time zones differ that much.
	if !ok || err != nil || now < seen-86400 || now >= expires || isStart && now >= lease.checkAfter(0) {
		return nil
	}
	if now > seen {
		program.keepLease(jws, now)
	}
	return lease
}

// keepLease fails in silence: then the program does not start without the network.
func (program Program) keepLease(jws any, latest int64) {
	file := program.MarkFile + ".tmp"
	if os.WriteFile(file, []byte(fmt.Sprintf("%s %d", jws, latest)), 0o600) == nil {
		_ = os.Rename(file, program.MarkFile)
	}
}

func (program Program) expected(hwid string) claims {
	sub := sha256.Sum256([]byte(program.LicenseKey))
	return claims{"aud": strconv.Itoa(program.ProductID), "sub": base64url(sub[:]), "hwid": hwid}
}

// verified returns the claims of a JWS that a pinned key signed and that has the type and the claims expected, or nil.
func (program Program) verified(jws any, typ string, expected claims) claims {
	text, _ := jws.(string)
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil
	}
	var said, found claims
	header, payload, signature := fromBase64url(parts[0]), fromBase64url(parts[1]), fromBase64url(parts[2])
	if json.Unmarshal(header, &said) != nil || json.Unmarshal(payload, &found) != nil || len(signature) != 64 {
		return nil
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, key := range strings.Split(program.PublicKeys, " ") {
		kid, point, _ := strings.Cut(key, ":")
		// The pinned key decides about the algorithm, never the header.
		if !reflect.DeepEqual(said, claims{"alg": "ES256", "kid": kid, "typ": typ}) {
			continue
		}
		x, y, _ := strings.Cut(point, ".")
		public := ecdsa.PublicKey{Curve: elliptic.P256(), X: number(fromBase64url(x)), Y: number(fromBase64url(y))}
		// Go refuses zeros in the signature.
		if !public.IsOnCurve(public.X, public.Y) ||
			!ecdsa.Verify(&public, digest[:], number(signature[:32]), number(signature[32:])) {
			return nil
		}
		for name, value := range expected {
			if found[name] != value {
				return nil
			}
		}
		return found
	}
	return nil
}

func number(bytes []byte) *big.Int { return new(big.Int).SetBytes(bytes) }

func base64url(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

// fromBase64url returns nothing for what is not base64url. Go ignores line feeds, and bits that are left over.
func fromBase64url(text string) []byte {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64url(bytes) != text {
		return nil
	}
	return bytes
}

func (program Program) ask(hwid, nonce, key string, takesOver bool) reply {
	fields := map[string]any{
		"licenseKey": program.LicenseKey, "productId": program.ProductID, "hwid": hwid,
		"productVersion": program.ProductVersion, "operatingSystem": runtime.GOOS, "osArchitecture": runtime.GOARCH,
	}
	if takesOver {
		fields["takeOver"] = true
	}
	if program.PublicKeys != "" {
		fields["nonce"], fields["lease"] = nonce, true
		fields["kid"], _, _ = strings.Cut(key, ":")
	}
	unreachable := func(why string) reply {
		return reply{Answer: Answer{State: Unreachable, Message: why}, pauseSeconds: program.RetrySeconds}
	}
	body, _ := json.Marshal(fields)
	request, err := http.NewRequest("POST", program.URL+"/api/v1/validate", bytes.NewReader(body))
	if err != nil {
		return unreachable(err.Error())
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "licet-client/2")
	client := http.Client{
		Timeout: time.Duration(program.TimeoutSeconds) * time.Second,
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment,
			DialContext:       (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			DisableKeepAlives: true, // else each question leaves an open connection
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return unreachable(err.Error())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return unreachable(err.Error())
	}
	status := response.StatusCode
	var said claims
	_ = json.Unmarshal(text, &said)
	believed := said
	if program.PublicKeys != "" {
		expected := program.expected(hwid)
		expected["nonce"] = nonce
		believed = program.verified(said["signed"], "licet-validation+jwt", expected)
	} else if valid, _ := said["valid"].(bool); valid != (status == 200) || !valid && status != 400 && status != 413 {
		believed = nil
	}
	message, _ := believed["message"].(string)
	switch believed["valid"] {
	case true:
		if program.PublicKeys == "" {
			believed = nil // unsigned claims have no entitlements
		}
		return reply{Answer: Answer{State: Valid, Message: message}, lease: said["lease"], claims: believed}
	case false:
		if advice := advices[message]; advice != "" {
			message += ". " + advice
		}
		return reply{Answer: Answer{State: Refused, Message: "License refused: " + message}}
	}
	answer := unreachable(fmt.Sprintf("HTTP %d", status))
	answer.status = status
	if retryAfter, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		answer.pauseSeconds = retryAfter
	}
	return answer
}

func (program Program) mark(seconds int64, hwid string) string {
	time := strconv.FormatInt(seconds, 10)
	return time + " " + hash(time, program.LicenseKey, strconv.Itoa(program.ProductID), hwid)
}

func HardwareID() string {
	machine, _ := os.ReadFile("/etc/machine-id")
	host, _ := os.Hostname()
	name := ""
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	return hash(strings.TrimSpace(string(machine)), host, name)
}

func hash(lines ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// From here on: a program that tries it out, no part of yours.
func main() {
	url, key := os.Getenv("LICET_URL"), os.Getenv("LICET_KEY")
	product, err := strconv.Atoi(os.Getenv("LICET_PRODUCT_ID"))
	if url == "" || key == "" || err != nil {
		fmt.Fprintln(os.Stderr, "Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.")
		os.Exit(3)
	}
	program := Program{URL: url, ProductID: product, ProductVersion: "1.0.0", LicenseKey: key, MarkFile: "licet.mark",
		TimeoutSeconds: 10, RetrySeconds: 2, GraceHours: 72, PublicKeys: os.Getenv("LICET_PUBLIC_KEYS")}
	if err := program.CheckForm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if file := os.Getenv("LICET_MARK"); file != "" {
		program.MarkFile = file
	}
	if seconds, err := strconv.Atoi(os.Getenv("LICET_TIMEOUT_SECONDS")); err == nil {
		program.TimeoutSeconds = seconds
	}
	if seconds, err := strconv.Atoi(os.Getenv("LICET_RETRY_SECONDS")); err == nil {
		program.RetrySeconds = seconds
	}
	check := program.Check
	if os.Getenv("LICET_MOVE") == "1" {
		check = program.Move
	}
	answer := check()
	fmt.Println(answer.Message)
	if name := os.Getenv("LICET_ENTITLEMENT"); name != "" {
		if value, counts := answer.Entitlement(name); counts {
			name += "=" + value
		}
		fmt.Println(name)
	}
	os.Exit(map[State]int{Valid: 0, Grace: 0, Refused: 1, Unreachable: 2}[answer.State])
}
