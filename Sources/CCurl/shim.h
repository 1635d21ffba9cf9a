#include <curl/curl.h>

// Swift cannot call functions with variable arguments.
static inline CURLcode lockstep_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode lockstep_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode lockstep_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*lockstep_transfer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode lockstep_set_function(CURL *handle, CURLoption option, lockstep_transfer value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode lockstep_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode lockstep_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
