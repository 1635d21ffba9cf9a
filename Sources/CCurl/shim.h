#include <curl/curl.h>

// Swift cannot call functions with a variable number of arguments.

static inline CURLcode curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// The constants are an enumeration up to libcurl 7.88 (Debian 12), and macros later, so Swift would have to treat them
// differently.
static inline CURLcode curl_set_starttls(CURL *handle, _Bool is_required) {
    return curl_easy_setopt(handle, CURLOPT_USE_SSL, (long)(is_required ? CURLUSESSL_ALL : CURLUSESSL_TRY));
}

static inline CURLcode curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_set_writer(
    CURL *handle, size_t (*writer)(char *bytes, size_t size, size_t count, void *context), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_WRITEDATA, context) : code;
}

// The lines of an answer: headers of HTTP, or the replies of a mail server.
static inline CURLcode curl_set_header_reader(
    CURL *handle, size_t (*reader)(char *bytes, size_t size, size_t count, void *context), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, reader);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_HEADERDATA, context) : code;
}

// The header Retry-After in seconds, also if it is a date; 0 without it.
static inline CURLcode curl_get_retry_after(CURL *handle, curl_off_t *seconds) {
    return curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, seconds);
}

static inline CURLcode curl_get_status(CURL *handle, long *status) {
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
}

static inline CURLcode curl_set_reader(
    CURL *handle, size_t (*reader)(char *bytes, size_t size, size_t count, void *context), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_READDATA, context) : code;
}

static inline CURLcode curl_set_progress(
    CURL *handle,
    int (*progress)(
        void *context, curl_off_t download_total, curl_off_t downloaded, curl_off_t upload_total, curl_off_t uploaded),
    void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L) : code;
}

static inline CURLcode curl_set_socket_callbacks(
    CURL *handle, int (*opened)(void *context, curl_socket_t socket, curlsocktype purpose),
    int (*closed)(void *context, curl_socket_t socket), void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, opened);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, closed);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, context) : code;
}

static inline CURLcode curl_get_pretransfer_time(CURL *handle, curl_off_t *microseconds) {
    return curl_easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME_T, microseconds);
}

static inline CURLcode curl_get_os_error(CURL *handle, long *number) {
    return curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, number);
}
